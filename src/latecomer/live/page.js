"use strict";
// Fetch the page again from time to time, and put in what has changed.
{
  const PARTS = [".headline", ".choose", ".notes", "main"];
  const every = 1000 * Number(document.getElementById("live").dataset.every);
  const state = document.getElementById("state");
  const pause = document.getElementById("pause");
  let isPaused = false;

  const refresh = async () => {
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (isPaused) return;
      for (const part of PARTS) {
        const old = document.querySelector(part), found = page.querySelector(part);
        if (found && old.innerHTML !== found.innerHTML) old.innerHTML = found.innerHTML;
      }
      state.textContent = page.getElementById("state").textContent;
    } catch (error) {
      state.textContent = "The server does not answer. What is shown is the last that was known.";
    }
  };
  pause.hidden = false;
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? "Go on" : "Pause";
    pause.setAttribute("aria-pressed", String(isPaused));
    if (!isPaused) refresh();
  });
  const tick = async () => {
    if (!isPaused && !document.hidden) await refresh();
    setTimeout(tick, every);
  };
  setTimeout(tick, every);
}
