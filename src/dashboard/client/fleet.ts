/**
 * Refreshes the fleet while the tab is visible. Replaces only the parts that have changed, so that a
 * button does not move away from under the pointer.
 */
import { keepCurrent } from "./parts/current-page.ts";
import { enhance } from "./parts/enhance.ts";
import { keepFocus } from "./parts/replace-element.ts";

const REFRESH_MS = 4_000;

/** The runner whose log this is may be lost, and come back. */
const isAway = () => document.querySelector("[data-fleet] [data-away]") !== null;

/** @returns whether the runner was asked */
async function askForLog(): Promise<boolean> {
  const form = document.querySelector<HTMLFormElement>("[data-fleet] .runner-actions form");
  if (!form) return false;
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form)) body.append(name, String(value));
  return fetch(form.action, { method: "POST", body }).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** @returns whether the runner was asked for its log */
async function show(page: Document): Promise<boolean> {
  const wasAway = isAway();
  const [fleet, old] = [page, document].map((one) =>
    one.querySelector<HTMLElement>("[data-fleet]"),
  );
  if (fleet && old) update(old, fleet);
  return wasAway && !isAway() && askForLog();
}

function update(old: HTMLElement, fleet: HTMLElement): void {
  enhance(fleet);
  keepFocus(old, () => {
    if (namesOf(old) === namesOf(fleet)) {
      for (const part of partsOf(fleet)) {
        const before = old.querySelector<HTMLElement>(
          `[data-part="${CSS.escape(part.dataset.part ?? "")}"]`,
        );
        if (before && before.innerHTML !== part.innerHTML && !isKept(before, part))
          before.replaceWith(part);
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

/** A log stays until another comes: the service may delete it while an operator still reads it. */
const isKept = (before: HTMLElement, part: HTMLElement) =>
  part.dataset.empty !== undefined && before.dataset.empty === undefined;

const partsOf = (root: HTMLElement) => [...root.querySelectorAll<HTMLElement>("[data-part]")];

/** The structure of the page: its runners and their parts. */
const namesOf = (root: HTMLElement) =>
  [...root.querySelectorAll<HTMLElement>("[data-part], [data-key]")]
    .map(({ dataset }) => dataset.part ?? dataset.key)
    .join("\n");

keepCurrent(() => REFRESH_MS, show);
