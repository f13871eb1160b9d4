/** Code of every page: copy buttons, local times, user menu, confirmations, choices, navigation, finder. */
import { noteChoice, restoreChoices } from "./parts/choices.ts";
import { enhance } from "./parts/enhance.ts";
import { listenForFinder } from "./parts/finder.ts";

/**
 * Brings the current place into the middle of a row that scrolls sideways: on a phone it may lie beyond the
 * edge. Measured with the next paint, when whatever else the page's code changes is there: any sooner, the
 * page would be laid out twice.
 */
const showCurrentPlaces = () => void requestAnimationFrame(show);

function show(): void {
  const places = document.querySelectorAll(":is(.main-nav, .tabs) > [aria-current]");
  for (const place of places) {
    const row = place.parentElement;
    // `scrollIntoView` would move the page, too.
    if (row) row.scrollLeft += middleOf(place) - middleOf(row);
  }
}

function middleOf(element: Element): number {
  const { left, width } = element.getBoundingClientRect();
  return left + width / 2;
}

enhance(document);
showCurrentPlaces();
restoreChoices(document);
listenForFinder();

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const button = event.target.closest<HTMLButtonElement>("[data-copy]");
  if (button) void copy(button);
  const menu = document.querySelector<HTMLDetailsElement>("details.menu[open]");
  if (menu && !menu.contains(event.target)) menu.open = false;
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector<HTMLDetailsElement>("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary")?.focus();
});

document.addEventListener("submit", (event) => {
  const question = event.target instanceof HTMLElement && event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

document.addEventListener("change", ({ target }) => noteChoice(target));

const COPIED_MS = 2_000;

async function copy(button: HTMLButtonElement): Promise<void> {
  const source = button.parentElement?.querySelector("code");
  if (!source) return;
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
  } catch {
    // The text is selected instead if clipboard access is denied or the origin is not secure.
    getSelection()?.selectAllChildren(source);
    button.textContent = "Press Ctrl+C";
  }
  setTimeout(() => {
    button.textContent = label;
  }, COPIED_MS);
}
