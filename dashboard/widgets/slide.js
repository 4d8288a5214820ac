
export default function ({ data, parentElement }) {
  const picture = parentElement.querySelector("img");
  picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(data.svg);
  picture.alt = data.alt;
  parentElement.querySelector("button").onclick = () => savePng(data.svg, data.width, data.height, "slide.png");
}
