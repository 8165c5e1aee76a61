// Curves: one scale per axis; the numbers are in a table below.

const WIDE = 460, HIGH = 240, LEFT = 52, BELOW = 34

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
  const save = make('button', { type: 'button', class: 'more', click: () => saveFigure(figure, table.title) }, 'Save as SVG')
  const figure = make('figure', {}, picture, save, folded('The same as a table', () => plainTable(table)))
  return figure
}

const STYLES = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-size', 'font-family']

/** Save a drawing as a file of its own: its title above, its key below, and every style that the page gives it written out. */
function saveFigure(figure, title) {
  const shown = figure.querySelector('svg'), saved = shown.cloneNode(true), key = figure.querySelector('.key')
  const all = one => [one, ...one.querySelectorAll('*')]
  all(shown).forEach((one, place) => {
    const style = getComputedStyle(one), copy = all(saved)[place]
    for (const name of STYLES) copy.setAttribute(name, style.getPropertyValue(name))
    copy.removeAttribute('class')
  })
  const page = getComputedStyle(document.body), lines = [], text = (x, y, words) =>
    lines.push(draw('text', { x, y, 'font-size': '12px', 'font-family': page.fontFamily, fill: page.color }, words))
  text(LEFT, -12, title)
  const names = [...key.querySelectorAll('span')]
  names.forEach((one, place) => {
    lines.push(draw('rect', { x: LEFT, y: HIGH + 4 + 18 * place, width: 10, height: 10, fill: getComputedStyle(one, '::before').color }))
    text(LEFT + 16, HIGH + 13 + 18 * place, one.textContent)
  })
  text(LEFT, HIGH + 13 + 18 * names.length, key.lastChild.textContent)
  const width = Math.max(WIDE, LEFT + 8 * Math.max(...lines.map(one => one.textContent.length))), height = HIGH + 52 + 18 * names.length
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 -28 ${width} ${height}` })) saved.setAttribute(name, value)
  saved.prepend(draw('rect', { y: -28, width, height, fill: page.backgroundColor }))
  add(saved, lines)
  const href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(saved)], { type: 'image/svg+xml' }))
  make('a', { href, download: `${title.replace(/[^\p{L}\p{N}.-]+/gu, '-').slice(0, 80)}.svg` }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60000)
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
