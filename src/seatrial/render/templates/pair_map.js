// A map of very many pairs: see render/pair_canvas.py for its data. Rows and columns are drawn at their places in `order`.
const SHADES = [1, 0.75, 0.5], MOST_CELL = 48, NAMED_CELL = 11, LETTER_CELL = 14, NUMBER_CELL = 28, MOST_GUTTER = 130, LETTER_WIDTH = 7;
const ON_WHITE = new Set(["SLOW", "UNSTABLE", "NOTE", "MEASURED", "INCONCLUSIVE", "NOT_RUN"]);
function cellsOf(row, styles) {
  const cells = new Map();
  let column = 0;
  for (const word of row ? row.split(",") : []) {
    const style = styles[word.charCodeAt(0) - 97];
    if (style) cells.set(column++, { style, number: word.slice(1) });
    else column += Number(word);
  }
  return cells;
}
function element(name, text, parent) {
  const made = document.createElement(name);
  made.append(text);
  parent.append(made);
  return made;
}
function pairMap(figure) {
  const map = JSON.parse(figure.dataset.map), count = map.labels.length;
  const rows = map.rows.map((row) => cellsOf(row, map.styles));
  const what = map.what.charAt(0).toLowerCase() + map.what.slice(1);
  const tools = document.createElement("div"), canvas = document.createElement("canvas"), readout = document.createElement("output");
  const longest = [...map.labels, ...map.groups].reduce((most, name) => Math.max(most, name.length), 0);
  const grouped = new Set(map.groups).size > 1;
  tools.className = "tools";
  figure.querySelector("figcaption").after(tools, canvas, readout);
  const select = element("select", "", element("label", "Order ", tools));
  for (const name of [grouped ? "by leaf" : "as listed", "by similarity"]) element("option", name, select);
  const buttons = ["Closer", "Wider", "Whole map"].map((name) => element("button", name, tools));
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", `${what} of ${count} rows: arrow keys choose a pair, plus and minus zoom, 0 shows all, enter opens its samples`);
  figure.hidden = false;
  const pen = canvas.getContext("2d");
  let order = [...map.labels.keys()], place = order, cursor = null, left = 0, top = 0, gutter = 0, side = 0, size = 1, from = null;
  const least = () => side / count;
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const x = (column) => gutter + (column - left) * size, y = (row) => gutter + (row - top) * size;

  function draw() {
    const style = getComputedStyle(figure), colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const ratio = devicePixelRatio || 1, last = Math.ceil(Math.max(left, top) + side / size);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, gutter + side, gutter + side);
    pen.save();
    pen.beginPath();
    pen.rect(gutter, gutter, side, side);
    pen.clip();
    pen.fillStyle = colour("absent");
    pen.fillRect(gutter, gutter, side, side);
    const drawn = map.styles.map(() => []);
    for (let row = Math.floor(top); row < Math.min(last, count); row++)
      for (const [column, cell] of rows[order[row]])
        if (place[column] > left - 1 && place[column] < last) drawn[map.styles.indexOf(cell.style)].push([row, place[column], cell.number]);
    map.styles.forEach(([word, shade], number) => {
      const passed = word === "PASS", thick = Math.max(size, passed ? 1 : 2);
      pen.globalAlpha = SHADES[shade];
      pen.fillStyle = colour(word.toLowerCase()) || colour("unsure");
      for (const [row, column] of drawn[number]) pen.fillRect(x(column), y(row), thick, thick);
    });
    pen.globalAlpha = 1;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.font = "11px system-ui, sans-serif";
    map.styles.forEach(([word, shade, letter], number) => {
      if (size < LETTER_CELL) return;
      pen.fillStyle = ON_WHITE.has(word) ? "#16202a" : shade === 2 ? colour("text") : "#ffffff";
      for (const [row, column, value] of drawn[number])
        pen.fillText(size < NUMBER_CELL ? letter : `${value}${letter}`, x(column + 0.5), y(row + 0.5), size);
    });
    pen.strokeStyle = colour("text");
    if (select.selectedIndex === 0)
      map.groups.forEach((group, row) => {
        if (row === 0 || group === map.groups[row - 1]) return;
        pen.strokeRect(gutter - 9, y(row), side + 18, 0);
        pen.strokeRect(x(row), gutter - 9, 0, side + 18);
      });
    if (cursor) {
      pen.lineWidth = 3;
      pen.strokeRect(x(cursor.column) - 1, y(cursor.row) - 1, Math.max(size, 4) + 2, Math.max(size, 4) + 2);
      pen.lineWidth = 1;
    }
    pen.restore();
    pen.fillStyle = colour("text");
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    for (const [text, middle] of names()) {
      const across = gutter + (middle - left) * size, down = gutter + (middle - top) * size;
      if (down > gutter && down < gutter + side) {
        pen.textAlign = "right";
        pen.fillText(text, gutter - 5, down, gutter - 8);
      }
      if (across > gutter && across < gutter + side) {
        pen.save();
        pen.translate(across, gutter - 5);
        pen.rotate(-Math.PI / 2);
        pen.textAlign = "left";
        pen.fillText(text, 0, 0, gutter - 8);
        pen.restore();
      }
    }
  }
  function names() {
    if (size >= NAMED_CELL) return order.map((row, number) => [map.labels[row], number + 0.5]);
    const found = [];
    if (select.selectedIndex > 0) return found;
    for (let start = 0, end = 1; start < count; start = end++) {
      while (end < count && map.groups[end] === map.groups[start]) end++;
      if ((end - start) * size >= NAMED_CELL) found.push([map.groups[start], (start + end) / 2]);
    }
    return found;
  }
  function settle() {
    size = clamp(size, least(), Math.max(MOST_CELL, least()));
    left = clamp(left, 0, count - side / size);
    top = clamp(top, 0, count - side / size);
    canvas.style.touchAction = size > least() * 1.01 ? "none" : "auto";
    canvas.dataset.cell = size.toFixed(2);
    requestAnimationFrame(draw);
  }
  function zoom(factor, across, down) {
    const column = left + across / size, row = top + down / size;
    size = clamp(size * factor, least(), Math.max(MOST_CELL, least()));
    left = column - across / size;
    top = row - down / size;
    settle();
  }
  function zoomAtCursor(factor) {
    const at = (number, start) => (cursor ? clamp((number + 0.5 - start) * size, 0, side) : side / 2);
    zoom(factor, at(cursor?.column, left), at(cursor?.row, top));
  }
  function whole() {
    size = least();
    settle();
  }
  function link() {
    return cursor ? map.links[`${order[cursor.row]} ${order[cursor.column]}`] : undefined;
  }
  function choose(row, column) {
    cursor = { row: clamp(row, 0, count - 1), column: clamp(column, 0, count - 1) };
    const source = order[cursor.row], target = order[cursor.column], cell = rows[source].get(target);
    const value = cell && cell.number ? `; ${what}: ${cell.number}` : "";
    readout.textContent = `${map.labels[source]}>${map.labels[target]}: ${cell ? cell.style[0] : "not measured"}${value}`;
    const address = link();
    if (address) {
      readout.append(" ");
      element("a", "samples", readout).href = address;
    }
  }
  function cellAt(event) {
    const box = canvas.getBoundingClientRect(), across = event.clientX - box.left - gutter, down = event.clientY - box.top - gutter;
    const inside = across >= 0 && down >= 0 && across < side && down < side;
    return { across, down, row: Math.floor(top + down / size), column: Math.floor(left + across / size), inside };
  }
  select.addEventListener("change", () => {
    order = select.selectedIndex ? map.similar : [...map.labels.keys()];
    place = [];
    order.forEach((row, number) => { place[row] = number; });
    cursor = null;
    readout.textContent = "";
    settle();
  });
  buttons[0].addEventListener("click", () => zoomAtCursor(2));
  buttons[1].addEventListener("click", () => zoomAtCursor(0.5));
  buttons[2].addEventListener("click", whole);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    const at = cellAt(event);
    zoom(event.deltaY < 0 ? 1.25 : 0.8, at.across, at.down);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX, y: event.clientY, left, top, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (from && Math.hypot(event.clientX - from.x, event.clientY - from.y) > 4) from.moved = true;
    if (from && from.moved) {
      left = from.left - (event.clientX - from.x) / size;
      top = from.top - (event.clientY - from.y) / size;
      settle();
    } else if (cellAt(event).inside) {
      const at = cellAt(event);
      choose(at.row, at.column);
      requestAnimationFrame(draw);
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    const at = cellAt(event), clicked = from && !from.moved && at.inside;
    from = null;
    if (!clicked) return;
    choose(at.row, at.column);
    if (link()) location.assign(link());
  });
  canvas.addEventListener("pointercancel", () => { from = null; });
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const keys = { "+": () => zoomAtCursor(2), "=": () => zoomAtCursor(2), "-": () => zoomAtCursor(0.5), 0: whole };
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key in steps) {
      const [down, across] = steps[event.key], far = event.shiftKey ? 10 : 1, at = cursor || { row: 0, column: 0 };
      choose(cursor ? at.row + down * far : 0, cursor ? at.column + across * far : 0);
      left = clamp(left, cursor.column + 1 - side / size, cursor.column);
      top = clamp(top, cursor.row + 1 - side / size, cursor.row);
      settle();
    } else if (event.key in keys) keys[event.key]();
    else if (event.key === "Enter" && link()) location.assign(link());
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => {
    const all = size <= least() * 1.01 || side === 0, ratio = devicePixelRatio || 1, width = canvas.clientWidth;
    if (width < 1) return;
    gutter = Math.min(MOST_GUTTER, Math.round(width / 4), longest * LETTER_WIDTH + 12);
    side = width - gutter;
    canvas.width = canvas.height = Math.round(width * ratio);
    all ? whole() : settle();
  }).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", settle);
}
document.querySelectorAll("figure[data-map]").forEach(pairMap);
