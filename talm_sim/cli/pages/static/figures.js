// Curves: one scale per axis; the numbers are in a table below.

const WIDE = 460, HIGH = 240, LEFT = 46, BELOW = 34

/** A round number that is at least `most`, and how many parts of equal size it has. */
function scaleTo(most) {
  const size = 10 ** Math.floor(Math.log10(Math.max(most, 1)))
  const top = [1, 2, 4, 5, 10].map(part => part * size).find(one => one >= most)
  const parts = [5, 4, 2, 1].find(number => (top / number) % 1 === 0) || 1
  return [top, parts]
}

function curveFigure(block, curve) {
  const names = curve.series.map(([name]) => name)
  const table = { title: `${curve.title} of ${block.title}`, heads: [curve.x, ...names], rows: curve.rows, words: 1 }
  const picture = curve.kind === 'reliability' ? reliability(curve) : histogram(curve)
  return make('figure', {}, picture, folded('The same as a table', () => plainTable(table)))
}

const across = (curve, x) => LEFT + (WIDE - LEFT - 8) * (x - curve.edges[0]) / ((curve.edges.at(-1) - curve.edges[0]) || 1)
const upward = (value, top) => 8 + (HIGH - BELOW - 8) * (1 - value / top)

function axes(curve, top, parts, ends) {
  const lines = []
  for (let part = 0; part <= parts; part++) {
    const y = upward(top * part / parts, top)
    lines.push(draw('line', { class: 'grid', x1: LEFT, x2: WIDE - 8, y1: y, y2: y }),
      draw('text', { x: LEFT - 6, y: y + 4, 'text-anchor': 'end' }, (top * part / parts).toLocaleString('en')))
  }
  for (const edge of ends) lines.push(draw('text', { x: across(curve, edge), y: HIGH - BELOW + 16, 'text-anchor': 'middle' }, Number(edge.toFixed(2))))
  lines.push(draw('text', { x: (LEFT + WIDE) / 2, y: HIGH - 3, 'text-anchor': 'middle' }, curve.x))
  return lines
}

const ends = curve => curve.edges.filter((_, place) => place % Math.ceil(curve.edges.length / 6) === 0)
const picture = (curve, words, ...children) =>
  draw('svg', { viewBox: `0 0 ${WIDE} ${HIGH}`, role: 'img', 'aria-label': `${curve.title}: ${words}` }, ...children)

function histogram(curve) {
  const [top, parts] = scaleTo(Math.max(1, ...curve.series.flatMap(([, values]) => values.map(value => value || 0))))
  const bars = curve.series.flatMap(([, values], number) => values.map((value, bin) => {
    const from = across(curve, curve.edges[bin]), width = (across(curve, curve.edges[bin + 1]) - from - 2) / curve.series.length
    const y = upward(value || 0, top)
    return draw('rect', { class: `series${number % 4}`, x: from + 1 + number * width, y, width: Math.max(1, width), height: Math.max(0, HIGH - BELOW - y) })
  }))
  const key = make('p', { class: 'key' }, curve.series.map(([name], number) => make('span', { class: `series${number % 4}` }, name)), make('br'), `Upward: ${curve.y}.`)
  return [picture(curve, `${curve.y} by ${curve.x}`, axes(curve, top, parts, ends(curve)), bars), key]
}

function reliability(curve) {
  const [shares, means] = curve.series.map(([, values]) => values)
  const points = shares.flatMap((share, bin) => share === null || means[bin] === null ? [] : [[across(curve, means[bin]), upward(share, 1)]])
  return [picture(curve, `${curve.y} by ${curve.x}`, axes(curve, 1, 5, ends(curve)),
    draw('line', { class: 'perfect', x1: across(curve, 0), y1: upward(0, 1), x2: across(curve, 1), y2: upward(1, 1) }),
    draw('polyline', { class: 'line', points: points.map(point => point.join(',')).join(' ') }),
    points.map(([cx, cy]) => draw('circle', { class: 'series0', cx, cy, r: 4 }))),
  make('p', { class: 'key' }, `Upward: ${curve.y}. On the dashed line, the model would be perfectly calibrated.`)]
}
