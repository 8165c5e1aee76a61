// The page as a whole. `page` is what a server's page adds to: it gives `ask`, replaces `opened`, and calls `refresh`.

const page = {
  index: read('index'),
  transcripts: read('transcripts'),
  /** Return a transcript; null if the page has none. */
  async transcript(run, episode) {
    if (page.transcripts) return held(run, episode)
    if (!live) return null
    const answer = await page.ask(`transcript.json?run=${run}&episode=${encoded(episode)}`)
    const found = await answer.json()
    if (!answer.ok) throw new Error(found.error || answer.statusText)
    return found
  },
  /** Called with a line and its transcript when this was shown. */
  opened() {},
  /** Show another index, as of a run that goes on; what a reader opened stays open. */
  refresh(index) {
    page.index = index
    const opened = new Set([...document.querySelectorAll('#results details[open] > summary')].map(one => one.textContent))
    document.getElementById('results').replaceWith(resultsSection())
    for (const one of document.querySelectorAll('#results summary')) if (opened.has(one.textContent)) one.parentElement.open = true
    for (const [id, section] of [['compared', pairsSection], ['asked', askedSection], ['facts', factsSection]]) {
      const old = document.getElementById(id), made = section()
      if (old && made) old.replaceWith(made)
      else if (made) document.querySelector('main').append(made)
    }
    if (episodes.list) update()
  },
}

function resultsSection() {
  const { blocks, papers, runs, definitions } = page.index
  const told = runs.some(run => run.outcomes.length)
  const tables = () => [
    make('p', { class: 'how' }, 'The small figures below a value are its 95\u00a0% interval; n is the number of scored episodes.'),
    blocks.map(block => blockSection(block)), papers.map(paperSection), runs.map(detailsOf),
    definitions.length > 0 && [make('h3', {}, 'What the columns count'), terms(definitions)]]
  return make('section', { id: 'results', 'aria-labelledby': 'results-title' }, make('h2', { id: 'results-title' }, told ? 'What the agent did' : 'Results'),
    runs.map(run => run.outcomes.length > 0 && outcomesOf(run, runs.length > 1)), told ? folded('Every table', tables) : tables())
}

function outcomesOf(run, several) {
  return make('section', { class: 'block' }, several && make('h3', {}, run.title, ' ', run.control && badge('control', 'a script, not a language model')),
    run.outcomes.map(group => [make('h4', {}, `${group.group}: ${count(group.n, 'episode')}`),
      make('ul', { class: 'outcomes' }, group.lines.map(([words, about, kind, number, share, limits, value]) => {
        const bar = make('span', { class: `fill ${kind}`, 'aria-hidden': 'true' })
        bar.style.inlineSize = `${Math.max(1, 100 * value)}%`
        return make('li', { title: about }, make('span', {}, words), make('span', { class: 'track' }, bar),
          make('span', { class: 'number' }, number.toLocaleString('en')), make('span', { class: 'soft' }, share, ' ', make('small', {}, limits)))
      })),
      group.never.length > 0 && make('p', { class: 'faint' }, `none: ${group.never.join(', ')}`)]),
    run.causes.map(cause => make('p', { class: 'is-notice' }, `Why: ${cause}`)))
}

function detailsOf(run) {
  const title = page.index.runs.length > 1 ? `: ${run.id}` : ''
  return [
    run.breakdowns.map(block => folded(capital(block.title) + title, () => block.tables.map(table => ratesTable(block, table)))),
    run.tables.length > 0 && folded(`How episodes ended${title}`, () => make('div', { class: 'beside' }, run.tables.map(table => plainTable(table)))),
  ]
}

function askedSection() {
  const runs = page.index.runs.filter(run => run.asked.items.length)
  if (!runs.length) return null
  return make('section', { id: 'asked', 'aria-labelledby': 'asked-title' }, make('h2', { id: 'asked-title' }, 'Asked and answered'), runs.map(run => {
    const number = page.index.runs.indexOf(run)
    const link = (text, place) => place ? text : make('a', { href: hashOf({ run: number, id: text }) }, text)
    const body = make('tbody')
    const line = row => make('tr', {}, row.map((text, place) => place ? make('td', { class: 'words' }, text) : make('th', { scope: 'row' }, link(text, place))))
    const more = lengthy(run.asked.items, 20, line, body)
    return make('section', { class: 'block' }, make('h3', {}, run.title),
      plainTable({ title: 'what was put to a person', heads: ['what', 'what came of it', 'items'], rows: run.asked.counts, words: 2 }),
      region(`Questions and answers of ${run.id}`, make('table', { class: 'asked' }, make('thead', {}, make('tr', {}, ['episode', 'question', 'who answered', 'answer'].map(name => head(name, '', 'words')))), body), true),
      more, run.asked.more > 0 && make('p', { class: 'faint' }, `${count(run.asked.more, 'more item')}: see the transcripts.`))
  }))
}

function factsSection() {
  return make('section', { id: 'facts', 'aria-labelledby': 'facts-title' }, make('h2', { id: 'facts-title' }, 'About the ' + (page.index.runs.length > 1 ? 'runs' : 'run')),
    page.index.runs.map(run => make('section', { class: 'block' }, make('h3', {}, run.title, ' ', run.control && badge('control', 'a script, not a language model')),
      terms([...run.facts, ['finished', `${run.finished.toLocaleString('en')} of ${count(run.total, 'episode')}`], ...(run.usage ? [['used', run.usage]] : [])]))))
}

function partNote() {
  const part = page.index.part
  if (!part) return null
  if (part.whole) return make('p', { class: 'note' }, 'The page was too large for one file. The transcripts are in the files beside it: ', part.files.flatMap((file, place) => [place ? ', ' : '', make('a', { href: encoded(file) }, file)]), '.')
  return make('p', { class: 'note' }, `These are transcripts ${part.number} of ${part.of}. `, make('a', { href: encoded(part.main) }, 'Tables, and the index of all episodes'))
}

function start() {
  const { index } = page, whole = !index.part || index.part.whole
  const links = [], body = []
  const put = (id, title, section) => { if (section) { links.push([id, title]); body.push(section) } }
  put('compared', 'Side by side', pairsSection())
  if (whole) put('results', 'Results', resultsSection())
  if (live || index.runs.some(run => run.episodes.length)) put('episodes', 'Episodes', episodesSection())
  if (whole) {
    put('asked', 'Questions', askedSection())
    put('facts', 'Facts', index.runs.length ? factsSection() : null)
  }
  add(document.body, [
    make('a', { class: 'skip', href: '#main' }, 'Skip to the content'),
    make('header', {}, make('h1', {}, index.title || 'talm-sim report'), make('nav', { 'aria-label': 'Parts of the page' }, links.map(([id, title]) => make('a', { href: `#${id}` }, title)))),
    make('main', { id: 'main', tabindex: '-1' }, partNote(), body),
  ])
  document.addEventListener('keydown', onKey)
  addEventListener('hashchange', follow)
  // Its own toggle event comes too late for the paper.
  addEventListener('beforeprint', () => { for (const one of document.querySelectorAll('details')) { one.open = true; one.dispatchEvent(new Event('toggle')) } })
  if (episodes.list) follow()
}

start()
