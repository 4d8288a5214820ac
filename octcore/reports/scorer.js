(() => {
  const TOP = 6; // so many lines may hold the names, below titles
  const marks = (text) => { // the mark that parts the first line most often comes first
    const first = text.split(/\r?\n/, 1)[0];
    return [",", ";", "\t", "|"].sort((a, b) => first.split(b).length - first.split(a).length);
  };
  const parse = (text, mark) => {
    const rows = [[""]];
    let quoted = false;
    for (let at = 0; at < text.length; at += 1) {
      const letter = text[at], row = rows[rows.length - 1];
      if (quoted) {
        if (letter === '"' && text[at + 1] === '"') { row[row.length - 1] += '"'; at += 1; }
        else if (letter === '"') quoted = false;
        else row[row.length - 1] += letter;
      } else if (letter === '"' && row[row.length - 1] === "") quoted = true;
      else if (letter === mark) row.push("");
      else if (letter === "\n") rows.push([""]);
      else if (letter !== "\r") row[row.length - 1] += letter;
    }
    return rows.filter((row) => row.length > 1 || row[0] !== "");
  };
  const PLAIN = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  // As octcore.data.numbers writes a number of a format as a plain one.
  const whole = (shape, text) => new RegExp(`^(?:${shape})$`).exec(text);
  const plain = (text, format) => {
    const [shape, marks] = MARKED[format] || [];
    if (shape && whole(shape, text)) return (/^\(|-$/.test(text) ? "-" : "") + [...text].filter((c) => !marks.includes(c)).join("").replace(",", ".");
    const bare = text.replace(/^(\D*)\(([^()]*)\)$/, "-$1$2"); // accounts write ($12) for -$12
    const { number, sign, inner, before, after } = (format.startsWith("dressed") && whole(DRESSED, bare)?.groups) || {};
    if (!number || (bare !== text && !before && !after)) return text;
    const usual = format === "dressed"; // elsewhere points mark thousands
    const is = (kind) => whole(MARKED[kind][0], number) && kind;
    const marked = (usual && is("thousands-comma")) || is("thousands-space") || "decimal-comma";
    return (sign + inner).replace("+", "") + (usual && PLAIN.test(number) ? number : plain(number, marked));
  };
  // As octcore.data.text cleans names and cells, and what it compares names by.
  const HIDDEN = /[\p{Cc}\p{Cs}\u200b\u2060\ufeff\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
  const shown = (c) => (c < "\u0100" ? "\\x" : "\\u") + c.codePointAt(0).toString(16).padStart(c < "\u0100" ? 2 : 4, "0");
  const clean = (text) => text.replace(/^[^\S\ufeff]+|[^\S\ufeff]+$/g, "").replace(/^="([^"]*)"$/, "$1")
    .replace(/\s*[\t\n\r\v\f]\s*/g, " ").replace(/^[\u2212\u2013](?=[0-9.,])/, "-").replace(HIDDEN, shown);
  const normal = (name) => clean(name).split(/\s+/).join(" ").normalize("NFC");
  const unique = (names) => { // as octcore.data.heading: the second "a" is "a (2)"
    const taken = new Set(names);
    return names.map((name, at) => {
      if (name && names.indexOf(name) === at) return name;
      const base = name || `column ${at + 1}`;
      let fresh = base;
      for (let number = 2; taken.has(fresh); number += 1) fresh = `${base} (${number})`;
      taken.add(fresh);
      return fresh;
    });
  };
  const value = (text, isText, format, words) => {
    if (typeof text === "number") return text; // days of a date
    if (MARKS.includes(text) || ((!isText || words) && WORDS.includes(text.toLowerCase()))) return null;
    if (isText) return text;
    const written = plain(text, format);
    const number = format !== "date" && PLAIN.test(written) ? Number(written) : NaN; // Number() alone takes 0x1f as well
    if (Number.isFinite(number)) return number;
    return /\d/.test(text) ? undefined : null; // a word such as "k.A." is a gap, as when reading
  };
  // As octcore.data.arrays: in rows with another decimal mark than at training, formats are others.
  const formatsOf = (head, rows) => {
    const found = Object.fromEntries(COLUMNS.map(([name]) => [name, READ[name].kind]));
    const isMost = (name, sign) => {
      const sure = new RegExp(`^[+-]?(?:\\d+[${sign}](?:\\d{1,2}|\\d{4,})|0[${sign}]\\d+)$`);
      const some = rows.slice(0, 100).map((cells) => clean(cells[head.get(name).at] || ""));
      return 2 * some.filter((text) => sure.test(text)).length > some.length;
    };
    for (const [sign, formats] of Object.entries(OTHER_MARK)) {
      const names = COLUMNS.filter(([name, isText]) => !isText && READ[name].kind in formats).map(([name]) => name);
      if ([",", "."].find((mark) => names.some((name) => isMost(name, mark))) !== sign) continue;
      for (const name of names) found[name] = formats[READ[name].kind];
    }
    return found;
  };
  // As octcore.data.numbers reads dates: the part of one, or its days since the first.
  const dated = (text, { kind, order, first }) => {
    const found = /^(?:(\d{4})([-/.])(\d{1,2})\2(\d{1,2})|(\d{1,2})([-/.])(\d{1,2})\6(\d{4}|\d\d(?<!-\d\d)))(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d| ?[AaPp][Mm])?)?$/.exec(text);
    if (!found) return /\d/.test(text) ? text : "";
    const [, early, , middle, last, one, between, two, late] = found;
    const [day, month] = early ? [last, middle] : between !== "/" || order === "dmy" ? [one, two] : [two, one];
    const year = (early || late) - 0, century = year >= 100 ? 0 : year < 30 ? 2000 : 1900;
    const date = new Date(Date.UTC(year + century, month - 1, day));
    if ((year >= 30 && year < 69) || date.getUTCMonth() !== month - 1) return text;
    if (kind === "date") return (date - Date.parse(first)) / 864e5;
    if (kind === "weekday") return WEEKDAYS[(date.getUTCDay() + 6) % 7];
    return String(kind === "year" ? date.getUTCFullYear() : month - 0);
  };
  // Where a column stands, or that of which it is a part; names may differ in spaces.
  const placesOf = (cells) => {
    const names = unique(cells.map(clean)), alike = names.map(normal);
    const place = (name) => (names.includes(name) ? names.indexOf(name) : alike.indexOf(normal(name)));
    const found = COLUMNS.map(([name]) => [name, place(name), place(READ[name].source)]);
    return new Map(found.map(([name, own, source]) => [name, { at: own < 0 ? source : own, isPart: own < 0 }]));
  };
  // All spellings of one number mean what one of them was taken for; 01 is another code than 1.
  const spelling = (text) => (PLAIN.test(text) && !/^[+-]?0\d/.test(text) ? Number(text) : text);
  const TAKEN = Object.fromEntries(COLUMNS.map(([name]) =>
    [name, new Map(READ[name].aliases.map(([text, taken]) => [spelling(text), taken]))]));
  const meant = (name, head, cells) => {
    const text = clean(cells[head.get(name).at] || ""), read = READ[name];
    const known = TAKEN[name].get(spelling(text)) ?? text;
    return read.kind === "date" || head.get(name).isPart ? dated(known, read) : known;
  };
  const field = (cell, mark) => {
    const guarded = /^[=+\-@\t\r]/.test(cell) && !Number.isFinite(Number(cell)) ? `'${cell}` : cell;
    return guarded.includes(mark) || /["\n]/.test(guarded)
      ? `"${guarded.replaceAll('"', '""')}"` : guarded;
  };
  const decoded = (bytes) => {
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      return new TextDecoder("windows-1252").decode(bytes);
    }
  };
  const say = (text) => { document.getElementById("said").textContent = text; };
  const score = (text) => {
    const content = text.replace(/^\ufeff/, "");
    const lacking = (head) => COLUMNS.map(([name]) => name).filter((name) => head.get(name).at < 0);
    const read = (mark) => {
      // As octcore.data.table: spreadsheets keep a line as one value, in quotes.
      const unwrapped = (row) => (row[0].includes(mark) && (row.length === 1 || row[0].includes('"'))
        && !row.slice(1).some(Boolean) ? parse(row[0], mark)[0] : row);
      const parsed = parse(content, mark), heads = parsed.slice(0, TOP).map((row) => placesOf(unwrapped(row)));
      const titles = heads.findIndex((head) => !lacking(head).length), width = unwrapped(parsed[titles] || [""]).length;
      const rows = parsed.map((row) => (unwrapped(row).length === width ? unwrapped(row) : row));
      return { mark, rows, heads, titles };
    };
    const [first, ...others] = marks(content);
    let tried = read(first);
    for (const mark of others) if (tried.titles < 0) tried = read(mark);
    const { mark, rows, heads, titles } = tried;
    const head = heads[titles];
    if (!head) {
      const names = new Set(lacking(read(first).heads[0] || placesOf([])).map((name) => READ[name].source));
      return say(`The file has no column ${[...names].join(", ")}; the tree asks for it.`);
    }
    const out = [[...rows[titles].map((name) => name.trim()), "prediction"]], formats = formatsOf(head, rows.slice(titles + 1)), fresh = new Map();
    for (const [at, cells] of rows.slice(titles + 1).entries()) {
      if (cells.slice(rows[titles].length).some((cell) => cell.trim())) {
        return say(`Row ${at + 1} has ${cells.length} fields, the line of names ${rows[titles].length}; put fields that hold a separator in quotes.`);
      }
      const row = Object.create(null); // a column may be called __proto__
      for (const [name, isText] of COLUMNS) {
        const text = meant(name, head, cells);
        row[name] = value(text, isText, formats[name], READ[name].words);
        const { known } = READ[name];
        if (isText && row[name] !== null && known.length && !known.includes(row[name])) fresh.set(name, (fresh.get(name) || 0) + 1);
        if (row[name] === undefined) {
          return say(`Row ${at + 1}: ${name} needs a ${formats[name] === "date" ? "date" : "number"}, not "${text}".`);
        }
      }
      out.push([...cells, predict(row) ?? ""]);
    }
    const table = document.getElementById("scored");
    table.replaceChildren();
    for (const [at, cells] of out.slice(0, 101).entries()) {
      const line = table.insertRow();
      for (const cell of cells) {
        const place = document.createElement(at ? "td" : "th");
        place.textContent = cell;
        line.append(place);
      }
    }
    const open = out.slice(1).filter((row) => row[row.length - 1] === "").length;
    const counted = (n) => n.toLocaleString("en-US");
    const news = [...fresh].map(([name, n]) => ` ${counted(n)} row${n > 1 ? "s have" : " has"} a value of ${name} that never came up in training.`).join("");
    say(`${counted(out.length - 1)} rows scored${open ? `, ${counted(open)} of them without a class: a column that the tree asks for has no value` : ""}.${news}${out.length > 101 ? " The first 100 are shown." : ""}${titles ? ` ${titles} line${titles > 1 ? "s" : ""} above the names left out.` : ""}`);
    const save = document.getElementById("save");
    const lines = out.map((row) => row.map((cell) => field(cell, mark)).join(mark));
    save.href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
    save.hidden = false;
  };
  document.getElementById("rows").addEventListener("change", (event) => {
    const file = event.target.files[0];
    if (file) file.arrayBuffer().then((bytes) => score(decoded(bytes)));
  });
})();
