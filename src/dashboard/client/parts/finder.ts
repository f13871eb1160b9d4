/**
 * Ctrl-K, and the link in the navigation, on every page that has one: the dialog's code comes when it is asked
 * for, since most pages are read without it.
 */
import { notice } from "./current-page.ts";

/** It is read by then. */
const TOLD_MS = 10_000;
const UNREACHABLE = "Cannot reach Auspex. Check your connection and try again.";

const link = document.querySelector<HTMLAnchorElement>("[data-finder]");

export function listenForFinder(): void {
  if (!link) return;
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey)
      void toggle(event, link);
  });
  link.addEventListener("click", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) void toggle(event, link);
  });
}

async function toggle(event: Event, { dataset, href }: HTMLAnchorElement): Promise<void> {
  event.preventDefault();
  const typed = collectTyped();
  try {
    const { toggleFinder }: typeof import("../find.ts") = await import(dataset.finder ?? "");
    toggleFinder(typed());
  } catch {
    typed();
    // A page of the browser's own would take this one's place.
    const answer = await fetch(href).catch(() => undefined);
    if (answer?.ok) location.assign(href);
    else {
      notice(UNREACHABLE);
      window.setTimeout(() => notice(undefined), TOLD_MS);
    }
  }
}

/** What is typed while the dialog is on its way is meant for it. @returns ends it, and has the text */
function collectTyped(): () => string {
  let text = "";
  const collect = (event: KeyboardEvent) => {
    if (event.key.length > 1 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    text += event.key;
  };
  document.addEventListener("keydown", collect);
  return () => {
    document.removeEventListener("keydown", collect);
    return text;
  };
}
