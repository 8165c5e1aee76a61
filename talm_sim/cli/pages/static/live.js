// Follows the runs of a page that `talm-sim view` serves, and sends what a reader writes. Every text is set as text, never as HTML.
//
// The page sends `talm-sim:transcript` with {run, episode, attempt, element} when it has shown a transcript in `element`. This script sends
// `talm-sim:index` with the index that is to be shown from now on.
(() => {
  "use strict";
  const POLL_MS = 1000;
  const start = JSON.parse(document.getElementById("index").textContent).live;
  let { version, runs, comments } = start;
  let name = start.name;
  const shown = new Map(); // element of each transcript on the page to what it is about

  const make = (tag, text = "", attributes = {}) => {
    const element = document.createElement(tag);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  // --- what the runs do -----------------------------------------------------------------------------------------------------------------

  const bar = make("p", "", { id: "live", role: "status" });
  document.body.prepend(bar);

  const describe = (run) => {
    const progress = `${run.finished} of ${run.total} episodes are finished`;
    const waiting = run.waiting ? `, ${run.waiting} wait for a person` : "";
    if (run.running) return `running: ${progress}${waiting}`;
    if (run.finished === run.total) return `finished: all ${run.total} episodes`;
    return `stopped: ${progress}${waiting}${run.again ? `; continue with: ${run.again}` : ""}`;
  };

  const say = (text, state) => {
    if (bar.textContent !== text) bar.textContent = text; // a screen reader reads each change
    bar.className = state;
  };

  const sayRuns = () => {
    const several = runs.length > 1;
    say(
      runs.map((run) => (several ? `${run.id} ${describe(run)}` : describe(run))).join("; "),
      runs.some((run) => run.running) ? "running" : "still",
    );
  };

  const poll = async () => {
    try {
      const answer = await fetch(`state.json?have=${version}`);
      if (answer.status === 200) {
        const now = await answer.json();
        ({ version, runs, comments } = now);
        document.dispatchEvent(new CustomEvent("talm-sim:index", { detail: now.index }));
        for (const [element, about] of shown) if (element.isConnected) list(element, about);
      }
      if (answer.ok) sayRuns();
      else say(answer.status === 403 ? "talm-sim view was started again; open its new link" : (await answer.json()).error, "lost");
    } catch {
      say("talm-sim view has ended; this page no longer changes", "lost");
    }
    setTimeout(poll, POLL_MS);
  };

  // --- comments -------------------------------------------------------------------------------------------------------------------------

  const list = (element, { run, episode, attempt }) => {
    const said = comments[run].filter((one) => one.episode_id === episode);
    const items = said.map((one) => {
      const item = make("li");
      const other = one.attempt === attempt ? "" : `, on attempt ${one.attempt}`;
      item.append(make("p", `${one.attribution}${other}`, { class: "who" }), make("p", one.text, { class: "said" }));
      return item;
    });
    element.querySelector("ol").replaceChildren(...items);
  };

  const send = async (form, about) => {
    const [text, who, button, error] = ["textarea", "input", "button", "[role=alert]"].map((one) => form.querySelector(one));
    name = who.value;
    button.disabled = true;
    error.textContent = "";
    try {
      const body = JSON.stringify({ run: about.run, episode: about.episode, text: text.value, name });
      const answer = await fetch("comments", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      const said = await answer.json();
      if (answer.ok) {
        comments = said.comments;
        text.value = "";
        list(form.parentElement, about);
      } else error.textContent = said.error;
    } catch {
      error.textContent = "The comment was not kept: talm-sim view has ended. Your text is still here.";
    }
    button.disabled = false;
  };

  let number = 0;
  const addComments = (place, about) => {
    const part = make("section", "", { class: "comments", "aria-label": `Comments on ${about.episode}` });
    const form = make("form");
    const ids = [`comment-${++number}`, `name-${number}`];
    form.append(
      make("label", "Your comment", { for: ids[0] }),
      make("textarea", "", { id: ids[0], rows: "3", maxlength: "4000", required: "" }),
      make("label", "Your name", { for: ids[1] }),
      make("input", "", { id: ids[1], maxlength: "80", autocomplete: "name" }),
      make("button", "Add comment", { type: "submit" }),
      make("p", "", { role: "alert" }),
    );
    form.querySelector("input").value = name;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form, about);
    });
    form.addEventListener("keydown", (event) => event.stopPropagation()); // letters typed here are no keys of the page
    part.append(make("h3", "Comments"), make("ol"), form);
    place.append(part);
    shown.set(part, about);
    list(part, about);
  };

  document.addEventListener("talm-sim:transcript", (event) => {
    for (const part of shown.keys()) if (!part.isConnected) shown.delete(part);
    addComments(event.detail.element, event.detail);
  });

  sayRuns();
  setTimeout(poll, POLL_MS);
})();
