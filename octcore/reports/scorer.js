(() => {
  const parse = (text) => {
    const first = text.split(/\r?\n/, 1)[0];
    const counts = [",", ";", "\t", "|"].map((mark) => [first.split(mark).length, mark]);
    const mark = counts.reduce((a, b) => (b[0] > a[0] ? b : a))[1];
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
    return [rows.filter((row) => row.length > 1 || row[0] !== ""), mark];
  };
  const value = (cell, isText, mark) => {
    const text = cell.trim();
    if (MARKS.includes(text)) return null;
    if (isText) return text;
    if (WORDS.includes(text.toLowerCase())) return null;
    const number = Number(mark === ";" ? text.replace(",", ".") : text);
    if (Number.isFinite(number)) return number;
    return /\d/.test(text) ? undefined : null; // a word such as "k.A." is a gap, as when reading
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
    const [rows, mark] = parse(text.replace(/^\ufeff/, ""));
    const head = (rows[0] || []).map((name) => name.trim());
    const lacking = COLUMNS.filter(([name]) => !head.includes(name)).map(([name]) => name);
    if (lacking.length) return say(`The file has no column ${lacking.join(", ")}; the tree asks for it.`);
    const out = [[...head, "prediction"]];
    for (const [at, cells] of rows.slice(1).entries()) {
      const row = {};
      for (const [name, isText] of COLUMNS) {
        row[name] = value(cells[head.indexOf(name)] || "", isText, mark);
        if (row[name] === undefined) {
          return say(`Row ${at + 1}: ${name} needs a number, not "${cells[head.indexOf(name)]}".`);
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
    say(`${out.length - 1} rows scored${open ? `, ${open} of them without a class: a column that the tree asks for has no value` : ""}.${out.length > 101 ? " The first 100 are shown." : ""}`);
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
