// Tables of the results.

const head = (text, note, kind) => make('th', { scope: 'col', class: kind }, note ? make('abbr', { title: note }, text) : text)
const region = (label, table, wide) =>
  make('div', { class: `scroll${wide ? ' wide' : ''}`, role: 'region', 'aria-label': label, tabindex: '0' }, table)

/** A value over its interval, and where the two lie between 0 and 1. */
function figureCell([value, limits, at, low, high]) {
  if (at === undefined) return make('td', {}, value, limits && make('small', {}, limits))
  const strip = draw('svg', { class: 'strip', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    draw('rect', { class: 'track', x: 0, y: 3.5, width: 100, height: 1 }),
    draw('rect', { class: 'range', x: 100 * low, y: 2, width: Math.max(1, 100 * (high - low)), height: 4 }),
    draw('rect', { class: 'point', x: Math.min(98, Math.max(0, 100 * at - 1)), y: 0, width: 2, height: 8 }))
  return make('td', {}, value, make('small', {}, limits), strip)
}

function ratesTable(block, table) {
  const label = `${table.title ? capital(table.title) + ': rates' : 'Rates'} of ${block.title}`
  return region(label, make('table', {},
    make('thead', {}, make('tr', {}, head(table.title || block.rows_are, '', 'words'), head('n'), table.heads.map(([name, note]) => head(name, note)))),
    make('tbody', {}, table.rows.map(row => make('tr', {}, make('th', { scope: 'row' }, row.group), make('td', { class: 'n' }, row.n), row.cells.map(figureCell))))),
  table.heads.length > 5)
}

/** A table of texts, the first `words` columns of which are words. */
function plainTable(table, cellOf = text => text) {
  const kind = place => place < table.words ? 'words' : ''
  return region(capital(table.title), make('table', {},
    make('thead', {}, make('tr', {}, table.heads.map((text, place) => head(text, '', kind(place))))),
    make('tbody', {}, table.rows.map(row => make('tr', {}, row.map((text, place) =>
      place ? make('td', { class: kind(place) }, cellOf(text, place)) : make('th', { scope: 'row' }, cellOf(text, place))))))),
  table.heads.length > 6)
}

function figuresTable(block, lines) {
  return region(`${capital(lines.title)} of ${block.title}`, make('table', {},
    make('thead', {}, make('tr', {}, head('name', '', 'words'), head('definition', '', 'words'), head('value'), head('k/n'))),
    make('tbody', {}, lines.rows.map(([name, note, figure, counts]) =>
      make('tr', {}, make('th', { scope: 'row' }, name), make('td', { class: 'words' }, note), figureCell(figure), make('td', {}, counts))))))
}

function matrixTable(block, matrix) {
  const cell = (row, number, place) => {
    const made = make('td', { class: 'cell' }, number.toLocaleString('en'))
    if (row.shades.length) [made.style.backgroundColor, made.style.color] = row.shades[place]
    return made
  }
  return [
    make('p', { class: 'how' }, `Rows: ${matrix.axes[0]}; columns: ${matrix.axes[1]}. Darker cells have a larger share of their row.`),
    region(`${capital(matrix.title)} of ${block.title}`, make('table', { class: 'matrix' },
      make('thead', {}, make('tr', {}, head(matrix.axes.join(' \\ '), '', 'words'), matrix.columns.map(name => head(broken(name))), head('n'), matrix.side.map(name => head(name)))),
      make('tbody', {}, matrix.rows.map(row => make('tr', {}, make('th', { scope: 'row' }, broken(row.name)),
        row.counts.map((number, place) => cell(row, number, place)),
        make('td', {}, row.counts.reduce((sum, one) => sum + one, 0).toLocaleString('en')), row.side.map(text => make('td', {}, text)))))),
    matrix.columns.length + matrix.side.length > 5),
  ]
}

function blockPart(block, part) {
  const of = part.group ? ` of ${part.group}` : ''
  return [
    part.lines.map(lines => [make('h4', {}, capital(lines.title) + of), figuresTable(block, lines)]),
    part.matrices.map(matrix => [make('h4', {}, capital(matrix.title) + of), matrixTable(block, matrix)]),
    part.curves.length > 0 && make('div', { class: 'curves' }, part.curves.map(curve => make('div', {}, make('h4', {}, capital(curve.title) + of), curveFigure(block, curve)))),
  ]
}

function blockSection(block, level = 'h3') {
  const control = block.control && badge('control', 'a script, not a language model')
  return make('section', { class: 'block' }, make(level, {}, block.title, ' ', control),
    block.tables.map(table => ratesTable(block, table)),
    block.parts.map(part => blockPart(block, part)),
    block.notes.length > 0 && make('ul', { class: 'notes' }, block.notes.map(note => make('li', {}, note))))
}

function paperSection(paper) {
  return make('section', { class: 'block paper' }, make('h3', {}, paper.title), plainTable(paper), make('ul', { class: 'notes' }, paper.notes.map(note => make('li', {}, note))))
}

const terms = pairs => make('dl', {}, pairs.map(([word, meaning]) => [make('dt', {}, word), make('dd', {}, meaning)]))
