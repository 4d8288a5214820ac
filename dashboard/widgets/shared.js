// What every component draws with; user text becomes textContent only.
const NS = "http://www.w3.org/2000/svg";

// Marker shapes of the classes, about 10 wide around the origin; keys are plotly's names.
const SHAPES = {
  circle: "M-5,0A5,5 0 1 1 5,0A5,5 0 1 1 -5,0Z", square: "M-4.5,-4.5H4.5V4.5H-4.5Z",
  "triangle-up": "M0,-5.5L5.5,4.5H-5.5Z", diamond: "M0,-6L6,0L0,6L-6,0Z",
  cross: "M-2,-5.5H2V-2H5.5V2H2V5.5H-2V2H-5.5V-2H-2Z",
  star: "M0,-6L1.6,-1.9L6,-1.9L2.5,0.8L3.7,5L0,2.4L-3.7,5L-2.5,0.8L-6,-1.9L-1.6,-1.9Z",
  hexagon: "M-5.5,0L-2.7,-4.8H2.7L5.5,0L2.7,4.8H-2.7Z", "triangle-down": "M0,5.5L5.5,-4.5H-5.5Z",
  pentagon: "M0,-5.5L5.3,-1.6L3.3,4.6H-3.3L-5.3,-1.6Z", hourglass: "M-5,-5H5L-5,5H5Z", bowtie: "M-5,-5V5L5,-5V5Z",
};

function el(name, attributes, parent, text) {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}


function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 2000);
}

function savePng(source, width, height, name) {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = width;
    canvas.height = height;
    canvas.getContext("2d").drawImage(image, 0, 0, width, height);
    canvas.toBlob((blob) => save(blob, name));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(source);
}
