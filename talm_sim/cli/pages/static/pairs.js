// Runs side by side. The figures are those of `talm-sim compare`.

const KINDS = ['improved', 'regressed', 'both failed', 'both passed', 'as often']

function parting(pair) {
  if (!pair.step) return make('p', { class: 'faint' }, 'Both transcripts are the same.')
  return make('dl', { class: 'parting' }, pair.excerpts.map((text, side) => [make('dt', {}, 'AB'[side]), make('dd', {}, text)]))
}

async function sideBySide(compared, pair, body) {
  const found = await Promise.all(pair.episodes.map((id, side) => page.transcript(compared.places[side], id).catch(() => null)))
  const sides = found.map((one, side) => {
    const line = episodes.all.find(other => other.run === compared.places[side] && other.id === pair.episodes[side])
    return make('div', { class: 'side' }, make('h4', { class: 'whose' }, `${'AB'[side]}: ${compared.names[side]}`), one ? transcriptView(one, pair.step) : line ? elsewhere(line) : make('p', { class: 'faint' }, 'This page was written without transcripts.'))
  })
  body.replaceChildren(make('div', { class: 'sides' }, sides))
  const first = body.querySelector('.differs')
  if (first) body.prepend(make('button', { type: 'button', click: () => first.scrollIntoView({ block: 'center' }) }, 'Go to the first step that differs'))
}

function pairLine(compared, pair) {
  const kind = { improved: 'good', regressed: 'bad' }[pair.kind] || 'faint'
  const body = make('div', { class: 'body', hidden: true })
  const button = make('button', { type: 'button', 'aria-expanded': 'false', click: () => {
    body.hidden = !body.hidden
    button.setAttribute('aria-expanded', String(!body.hidden))
    if (!body.hidden && !body.firstChild) sideBySide(compared, pair, body)
  } }, pair.scenario)
  return make('li', { class: 'episode' }, make('div', { class: 'bar' }, badge(kind, pair.kind), make('h4', {}, button), make('span', { class: 'facts' }, pair.group, pair.step ? ` · differs from step ${pair.step} on` : ' · same transcript')), parting(pair), body)
}

function pairList(compared) {
  if (!compared.pairs.length) return null
  const numbers = new Map([['all', compared.pairs.length], ...KINDS.map(kind => [kind, compared.pairs.filter(pair => pair.kind === kind).length]), ['different', compared.pairs.filter(pair => pair.step).length]])
  const list = make('ol', { class: 'episodes' }), foot = make('div')
  const show = kind => {
    const pairs = compared.pairs.filter(pair => kind === 'all' || (kind === 'different' ? pair.step : pair.kind === kind))
    list.replaceChildren()
    foot.replaceChildren(lengthy(pairs, 40, pair => pairLine(compared, pair), list))
    for (const button of row.children) button.setAttribute('aria-pressed', String(button.value === kind))
  }
  const row = make('div', { class: 'buttons', role: 'group', 'aria-label': 'Pairs to show' }, [...numbers].filter(([, number]) => number).map(([kind, number]) =>
    make('button', { type: 'button', value: kind, click: () => show(kind) }, `${kind} (${number.toLocaleString('en')})`)))
  show(['improved', 'regressed', 'different', 'all'].find(kind => numbers.get(kind)))
  return [make('h4', {}, 'Pairs of episodes'), make('p', { class: 'how' }, 'Different: at some step, the two transcripts are not the same.'), row, list, foot]
}

const differences = table => [make('h4', {}, capital(table.title)), plainTable(table)]

function comparedSection(compared) {
  if (compared.reason) return make('section', { class: 'block' }, make('h3', {}, `${compared.names[1]} against ${compared.names[0]}`), make('p', { class: 'faint' }, 'Not compared. ', compared.reason))
  return make('section', { class: 'block' }, make('h3', {}, compared.title), make('ul', { class: 'notes' }, compared.about.map(line => make('li', {}, line))),
    compared.tables.slice(0, 1).map(differences),
    compared.tables.length > 1 && folded('Every other difference', () => make('div', {}, compared.tables.slice(1).map(differences))), pairList(compared))
}

function pairsSection() {
  const every = page.index.compared
  if (!every.length) return null
  const names = [...new Set(every.map(one => one.names[0]))]
  const body = make('div')
  const show = name => body.replaceChildren(...every.filter(one => one.names[0] === name).map(comparedSection))
  show(names[0])
  return make('section', { id: 'compared', 'aria-labelledby': 'compared-title' }, make('h2', { id: 'compared-title' }, 'Side by side'),
    names.length > 1 && make('p', {}, choice('baseline', 'Baseline (A)', names.map(name => make('option', { value: name }, name)), show)), body)
}
