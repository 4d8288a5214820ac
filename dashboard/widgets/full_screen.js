export default function ({ parentElement }) {
  const button = parentElement.querySelector("button");
  button.hidden = !document.fullscreenEnabled;
  button.onclick = () => document.fullscreenElement
    ? document.exitFullscreen()
    : document.documentElement.requestFullscreen().catch(() => { button.hidden = true; });
}
