// Lays a figure out for the width that there is, and draws it; once more when the width changes.
function fitFigure(spec, width) {
  const { least, most, margin, gap, legend, ofWidth } = spec.usermeta.layout;
  const panels = spec.concat || [spec];
  const room = Math.floor((width + gap) / (least + margin + gap));
  const columns = Math.max(1, Math.min(panels.length, room));
  const inner = Math.floor((width + gap) / columns - gap - margin);
  panels.forEach((panel, k) => {
    panel.width = Math.max(160, Math.min(most, inner));
    if (ofWidth[k]) panel.height = Math.round(panel.width * ofWidth[k]);
  });
  if (spec.concat) spec.columns = columns;
  spec.config.legend.columns = Math.max(1, Math.min(6, Math.floor(width / legend)));
  spec.config.legend.labelLimit = Math.max(120, width - 60);
  return spec;
}

function drawFigure(id, spec) {
  const element = document.getElementById(id);
  const frame = element.parentElement;
  const menu = 40; // beside the figure, for its exports
  const options = { renderer: 'svg', actions: { export: true, source: false, compiled: false, editor: false } };
  let drawn = 0;
  const draw = () => {
    const width = frame.clientWidth - menu;
    if (width < 1 || Math.abs(width - drawn) < 8) return;
    drawn = width;
    vegaEmbed(element, fitFigure(spec, width), options).catch(error => { element.textContent = error; });
  };
  draw();
  let waiting;
  new ResizeObserver(() => { clearTimeout(waiting); waiting = setTimeout(draw, 150); }).observe(frame);
}
