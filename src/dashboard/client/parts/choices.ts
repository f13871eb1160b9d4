/** The last choice in a fieldset, which the browser remembers. */

const PREFIX = "auspex.choice.";

/** Checks the last choices: fieldsets name the key under which their choice is kept. */
export function restoreChoices(root: ParentNode): void {
  for (const place of root.querySelectorAll<HTMLElement>("[data-choice]")) {
    const chosen = keptChoice(place.dataset.choice ?? "");
    for (const radio of place.querySelectorAll<HTMLInputElement>("input"))
      if (radio.value === chosen) radio.checked = true;
  }
}

/** @param target of an event `change` */
export function noteChoice(target: EventTarget | null): void {
  if (!(target instanceof HTMLInputElement)) return;
  const key = target.closest<HTMLElement>("[data-choice]")?.dataset.choice;
  if (key !== undefined) keepChoice(key, target.value);
}

export function keepChoice(key: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + key, value);
  } catch {
    // The choice holds for this page alone if the browser does not store it.
  }
}

export function keptChoice(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null;
  }
}
