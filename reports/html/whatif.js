// The sliders: looks up what the model answered when the page was written. No number is computed here, nor formatted.
"use strict";
(function () {
  const form = document.getElementById("whatif-form");
  const grid = JSON.parse(document.getElementById("data").textContent).grid;
  if (!form || !grid) return;
  const prefix = "#whatif:";
  const knobs = grid.axes.map((axis) => document.getElementById("knob-" + axis.key));
  const show = (id, text) => { document.getElementById(id).textContent = text; };
  const places = () => knobs.map((knob) => Number(knob.value));
  const found = grid.axes.map((axis) => axis.found);

  // What is told of the point at these positions, by name.
  function point(at) {
    const place = at.reduce((sum, position, i) => sum * grid.axes[i].labels.length + position, 0);
    return Object.fromEntries(Object.entries(grid.points).map(([name, column]) => [name, column[grid.index[place]]]));
  }

  function bar(id, from, to, top) {
    const style = document.getElementById(id).style;
    style.left = 100 * from / top + "%";
    style.width = 100 * (to - from) / top + "%";
  }

  function update() {
    const at = places();
    const answer = point(at);
    grid.axes.forEach((axis, i) => {
      const label = axis.labels[at[i]] + (at[i] === axis.found && axis.values[at[i]] === "" && axis.key !== "cache" ? " (as profiled)" : "");
      show("value-" + axis.key, label);
      knobs[i].setAttribute("aria-valuetext", label);
    });
    show("answer-rate", answer.rate);
    show("answer-gain", answer.gain);
    show("answer-stall", answer.stall);
    show("answer-time", answer.time);
    show("answer-bound", grid.texts[answer.bound]);
    show("answer-notes", answer.notes.map((note) => grid.texts[note]).join("; "));
    show("answer-command", grid.command + answer.set);
    const before = point(found);
    const top = Math.max(1.5 * before.mean, answer.high);
    bar("bar-found", 0, before.mean, top);
    bar("bar-answer", 0, answer.mean, top);
    bar("whisker-answer", answer.low, answer.high, top);
  }

  function remember() {
    const at = places();
    const changed = grid.axes.flatMap((axis, i) => (at[i] === axis.found ? [] : [axis.key + "=" + encodeURIComponent(axis.values[at[i]])]));
    history.replaceState(null, "", changed.length > 0 ? prefix + changed.join("&") : location.pathname + location.search);
  }

  function recall() {
    knobs.forEach((knob, i) => { knob.value = found[i]; });
    if (location.hash.startsWith(prefix)) {
      const wanted = new URLSearchParams(location.hash.slice(prefix.length));
      grid.axes.forEach((axis, i) => {
        const place = axis.values.indexOf(wanted.get(axis.key));
        if (wanted.has(axis.key) && place >= 0) knobs[i].value = place;
      });
    }
    update();
  }

  form.addEventListener("input", () => { update(); remember(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    knobs.forEach((knob, i) => { knob.value = found[i]; });
    update();
    remember();
  });
  window.addEventListener("hashchange", recall);
  document.getElementById("whatif-table").open = false;
  form.hidden = false;
  recall();
  if (location.hash.startsWith(prefix)) document.getElementById("whatif-section").scrollIntoView();
})();
