// ------------------------------------------------------------------ texts
// Texts of environments and models are untrusted: they become text nodes, and nothing
// here parses HTML.

// Characters that cannot be seen, or that change the direction of others.
const INVISIBLE = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200b"
  + "\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb]"
  + "|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]", "g");

function visible(text) {
  return String(text).replace(/\r\n/g, "\n").replace(INVISIBLE, (c) => {
    const code = c.charCodeAt(0).toString(16).toUpperCase();
    return `⟨U+${code.padStart(4, "0")}⟩`;
  });
}

// A new element: its properties, its attributes (names with a dash, role), its children.
function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  for (const child of children) {
    if (child !== null && child !== undefined) {
      node.append(child.nodeType ? child : visible(child));
    }
  }
  return node;
}

const byId = (id) => document.getElementById(id);

function setText(node, text) {
  const next = visible(text);
  if (node.textContent !== next) node.textContent = next;
}

// Six digits: sums of tenths are not exact.
function number(value) {
  return String(Number(value.toPrecision(6))).replace("-", "−");
}

function plural(count, noun, nouns = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : nouns}`;
}

function show(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

// An icon of 16 by 16 pixels. Icons are drawn: few fonts have their characters.
const ICONS = {
  play: "M4 2v12l9-6z",
  pause: "M3 2h4v12H3zM9 2h4v12H9z",
  back: "M11 3v10L4 8z",
  forward: "M5 3v10l7-5z",
  up: "M8 3l6 8H2z",
  down: "M8 13L2 5h12z",
  check: "M6 13.5L1 8.5l1.8-1.8L6 9.9l7.2-7.2L15 4.5z",
  square: "M3 3h10v10H3z",
  warning: "M8 1l7.5 14H.5zM7 5.5v5h2v-5zM7 11.5v2h2v-2z",
  differs: "M2 4h12v2H2zM2 10h12v2H2zM10.5 1.5l1.8 1-6.8 12-1.8-1z",
  close: "M3.5 2L8 6.5 12.5 2 14 3.5 9.5 8l4.5 4.5-1.5 1.5L8 9.5 3.5 14 2 12.5 6.5 8 2 3.5z",
};

function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  picture.setAttribute("viewBox", "0 0 16 16");
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", ICONS[name]);
  picture.append(path);
  return picture;
}

// Show on a button whether it plays or pauses.
function showPlaying(button, isPlaying) {
  const label = isPlaying ? "Pause" : "Play";
  if (button.textContent === label && button.firstElementChild) return false;
  button.replaceChildren(icon(isPlaying ? "pause" : "play"), label);
  return true;
}

// A long text: its beginning, and the number of the other characters.
function clip(text, length) {
  if (!length || text.length <= length) return [text, 0];
  return [text.slice(0, length), text.length - length];
}
