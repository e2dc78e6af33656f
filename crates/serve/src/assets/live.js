"use strict";
// A bench under way: what the server pushes is put into the page. A file to be checked is sent as it is.
const live = document.getElementById("live");
if (live) {
  const at = (name) => live.querySelector(`.${name}`);
  const percent = (ratio) => `${((ratio - 1) * 100).toFixed(1)}%`;
  const events = new EventSource(live.dataset.events);
  events.addEventListener("open", () => live.removeAttribute("data-lost"));
  // The browser connects again by itself, also to a server that was started anew.
  events.addEventListener("error", () => { live.dataset.lost = "true"; });
  events.addEventListener("message", (event) => {
    const run = JSON.parse(event.data);
    at("state").textContent = run.state;
    if (run.state === "ended") { events.close(); at("left").textContent = "none"; return; }
    at("target").textContent = run.target;
    at("began").textContent = run.began;
    at("made").textContent = `${run.runs_made} of ${run.runs_expected}`;
    at("cells").textContent = `${run.cells_done} of ${run.cells}`;
    at("left").textContent = run.seconds_left === null ? "not known yet" : `${run.seconds_left} s`;
    const bar = live.querySelector("progress");
    bar.max = run.runs_expected || 1;
    bar.value = run.runs_made;
    at("gains").replaceChildren(...run.gains.map((gain) => {
      const row = document.createElement("tr");
      const ends = gain.ratio ? [gain.ratio.mean, gain.ratio.low, gain.ratio.high].map(percent) : ["not yet", "", ""];
      for (const text of [gain.workload, gain.offset, ...ends]) row.insertCell().textContent = text;
      for (const cell of Array.from(row.cells).slice(2)) cell.className = "right";
      return row;
    }));
  });
}
const upload = document.getElementById("upload");
if (upload) {
  const said = document.querySelector("p.answer");
  upload.addEventListener("submit", async (event) => {
    event.preventDefault();
    const file = upload.elements.file.files[0];
    said.hidden = false;
    said.textContent = `checking ${file.name}`;
    // Of a long file, which can only be an image, the beginning has the tables.
    const body = file.size > 16 * 1024 * 1024 ? file.slice(0, 1024 * 1024) : file;
    const answer = await fetch(`/check?name=${encodeURIComponent(file.name)}&size=${file.size}`, { method: "POST", body });
    if (answer.ok) location.assign(answer.headers.get("location"));
    else said.textContent = await answer.text();
  });
}
