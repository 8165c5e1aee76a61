// What `talm-sim view` adds to the page: it follows the runs, and sends the comments that a reader writes.

const POLL_MS = 1000
const MOST_IN_FLIGHT = 16
const { key, ...begun } = page.index.live
const watched = { ...begun, parts: new Map(), made: 0 }
// The key stays in memory: no cookie, no address and no copy of the page has it.
delete page.index.live
document.getElementById('index').remove()
history.replaceState(null, '', location.pathname + location.hash)
page.ask = (path, more = {}) => fetch(path, { ...more, headers: { ...more.headers, 'Talm-Sim-Key': key } })

const state = make('strong', { role: 'status' })
const progress = make('span')
const bar = make('p', { id: 'live' }, state, progress)
const inFlight = make('ul', { id: 'in-flight' })
document.querySelector('header').append(bar)
document.querySelector('header').after(inFlight)

function say(kind, words, more = '') {
  // Only the state is read aloud when it changes, not every episode.
  if (state.textContent !== words) state.textContent = words
  progress.textContent = more && `: ${more}`
  bar.className = kind
}

function describe(run) {
  const finished = run.finished === run.total ? count(run.total, 'episode') : `${run.finished.toLocaleString('en')} of ${count(run.total, 'episode')} finished`
  const name = watched.runs.length > 1 ? `${run.id} ` : ''
  return name + finished + (run.waiting ? `, ${run.waiting.toLocaleString('en')} waiting for a person` : '') + (run.again && `; continue with: ${run.again}`)
}

function sayRuns() {
  const running = watched.runs.some(run => run.running), stopped = watched.runs.some(run => run.again)
  const played = watched.runs.flatMap(run => run.inFlight.map(([id, turn]) => `${id}: ${turn ? `turn ${turn}` : 'begins'}`))
  const more = played.length - MOST_IN_FLIGHT
  inFlight.replaceChildren(...[...played.slice(0, MOST_IN_FLIGHT), ...(more > 0 ? [`${more.toLocaleString('en')} more`] : [])].map(one => make('li', {}, one)))
  say(running ? 'running' : stopped ? 'stopped' : 'finished', running ? 'Running' : stopped ? 'Stopped' : 'Finished', watched.runs.map(describe).join('; '))
}

async function poll() {
  try {
    const answer = await page.ask(`state.json?have=${watched.version}&index=${watched.indexVersion}`)
    if (answer.status === 200) {
      const now = await answer.json()
      Object.assign(watched, { version: now.version, indexVersion: now.indexVersion, runs: now.runs, comments: now.comments })
      if (now.index) page.refresh(now.index)
      for (const [line, part] of watched.parts) part.list(line)
    }
    if (answer.ok) sayRuns()
    else if (answer.status === 403) say('lost', 'talm-sim view was started again', 'open its new link')
    else say('lost', 'The run cannot be read', (await answer.json()).error)
  } catch {
    say('lost', 'talm-sim view has ended', 'this page no longer changes')
  }
  setTimeout(poll, POLL_MS)
}

/** The comments on an episode, and a form to write one. It is made once per episode: what a reader is writing stays. */
function commentsPart(line) {
  const box = make('div'), error = make('p', { class: 'bad', role: 'alert' }), number = ++watched.made
  const text = make('textarea', { id: `comment-${number}`, rows: 3, maxlength: 4000, required: true })
  const name = make('input', { id: `name-${number}`, maxlength: 80, autocomplete: 'name', value: watched.name })
  const button = make('button', { type: 'submit' }, 'Add comment')
  const send = async event => {
    event.preventDefault()
    watched.name = name.value
    button.disabled = true
    error.textContent = ''
    try {
      const body = JSON.stringify({ run: line.run, episode: line.id, text: text.value, name: name.value })
      const answer = await page.ask('comments', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
      const said = await answer.json()
      if (answer.ok) {
        watched.comments = said.comments
        text.value = ''
        list(line)
      } else error.textContent = said.error
    } catch {
      error.textContent = 'The comment was not kept: talm-sim view has ended.'
    }
    button.disabled = false
  }
  const list = of => box.replaceChildren(...commentList(watched.comments[of.run].filter(one => one.episode === of.id), part.attempt))
  const form = make('form', { submit: send }, make('label', { for: text.id }, 'Your comment'), text, make('label', { for: name.id }, 'Your name'), name, button, error)
  const part = { element: make('section', { class: 'part comments' }, make('h4', {}, 'Comments'), box, form), list, attempt: 1 }
  return part
}

page.opened = (line, transcript) => {
  if (!watched.parts.has(line)) watched.parts.set(line, commentsPart(line))
  const part = watched.parts.get(line)
  part.attempt = transcript.attempt
  part.list(line)
  if (!part.element.isConnected) line.body.append(part.element)
}

sayRuns()
setTimeout(poll, POLL_MS)
