// A text in lines of so many letters at most, where words allow.
function inLines(text, letters) {
  return text.split(" ").reduce((lines, word) => {
    const longer = `${lines.at(-1)} ${word}`;
    return lines.length && longer.length <= letters ? [...lines.slice(0, -1), longer] : [...lines, word];
  }, []);
}

// Lays a figure out for the width that there is, and draws it; once more when the width changes.
function fitFigure(spec, width) {
  const { least, most, margin, gap, legends, words, ofWidth } = spec.usermeta.layout;
  const panels = spec.concat || [spec];
  const room = Math.floor((width + gap) / (least + margin + gap));
  const columns = Math.max(1, Math.min(panels.length, room));
  const inner = Math.floor((width + gap) / columns - gap - margin);
  panels.forEach((panel, k) => {
    panel.width = Math.max(160, Math.min(most, inner));
    if (ofWidth[k]) panel.height = Math.round(panel.width * ofWidth[k]);
    for (const { encoding } of panel.layer) {
      const axis = encoding.x.axis;
      encoding.x.title = inLines(encoding.x.title.join(" "), Math.max(16, panel.width / 6.4));
      if (axis?.values) axis.labelAngle = words[k] * axis.values.length > panel.width ? -90 : 0; // words stand where they would collide
      else if (axis) axis.tickCount = Math.max(2, Math.round(panel.width / 75)); // a number and some space
      for (const channel in legends) {
        const legend = encoding[channel]?.legend;
        if (legend) legend.columns = Math.max(1, Math.min(8, Math.floor(width / legends[channel])));
      }
    }
  });
  if (spec.concat) spec.columns = columns;
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
