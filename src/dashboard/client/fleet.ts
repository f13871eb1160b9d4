/**
 * Refreshes the fleet while the tab is visible. Replaces only the parts that have changed, so that a
 * button does not move away from under the pointer.
 */
import { loadCurrentPage } from "./parts/current-page.ts";
import { enhance } from "./parts/enhance.ts";
import { keepFocus } from "./parts/replace-element.ts";

const REFRESH_MS = 4_000;

let timer: number | undefined;

function schedule(): void {
  clearTimeout(timer);
  if (isSettled()) return;
  if (!document.hidden) timer = window.setTimeout(refresh, REFRESH_MS);
}

/** A log that has come stays as it is, until somebody asks again. */
const isSettled = () => document.querySelector("[data-fleet] [data-settled]") !== null;

async function refresh(): Promise<void> {
  const page = await loadCurrentPage();
  if (page) {
    const [fleet, old] = [page, document].map((one) =>
      one.querySelector<HTMLElement>("[data-fleet]"),
    );
    if (fleet && old) update(old, fleet);
  }
  schedule();
}

function update(old: HTMLElement, fleet: HTMLElement): void {
  enhance(fleet);
  keepFocus(old, () => {
    if (namesOf(old) === namesOf(fleet)) {
      for (const part of partsOf(fleet)) {
        const before = old.querySelector(`[data-part="${CSS.escape(part.dataset.part ?? "")}"]`);
        if (before && before.innerHTML !== part.innerHTML) before.replaceWith(part);
      }
      return old;
    }
    for (const { dataset } of old.querySelectorAll<HTMLDetailsElement>("details[open]"))
      fleet
        .querySelector(`details[data-key="${CSS.escape(dataset.key ?? "")}"]`)
        ?.setAttribute("open", "");
    old.replaceWith(fleet);
    return fleet;
  });
}

const partsOf = (root: HTMLElement) => [...root.querySelectorAll<HTMLElement>("[data-part]")];

/** The structure of the page: its runners and their parts. */
const namesOf = (root: HTMLElement) =>
  [...root.querySelectorAll<HTMLElement>("[data-part], [data-key]")]
    .map(({ dataset }) => dataset.part ?? dataset.key)
    .join("\n");

document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (!isSettled()) void refresh();
});

schedule();
