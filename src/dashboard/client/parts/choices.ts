/** What was chosen last of a few: fieldsets name the key under which the browser remembers it. */

const PREFIX = "auspex.choice.";

/** Checks what was chosen last, on a page or on a fragment loaded later. */
export function restoreChoices(root: ParentNode): void {
  for (const place of root.querySelectorAll<HTMLElement>("[data-choice]")) {
    const chosen = stored(place.dataset.choice ?? "");
    for (const radio of place.querySelectorAll<HTMLInputElement>("input"))
      if (radio.value === chosen) radio.checked = true;
  }
}

/** Remembers what is chosen. @param target of an event `change` */
export function keepChoice(target: EventTarget | null): void {
  if (!(target instanceof HTMLInputElement)) return;
  const key = target.closest<HTMLElement>("[data-choice]")?.dataset.choice;
  if (key === undefined) return;
  try {
    localStorage.setItem(PREFIX + key, target.value);
  } catch {
    // Not allowed: then it is so for this page alone.
  }
}

function stored(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null;
  }
}
