/** The last choice in a fieldset, which the browser remembers. */

const PREFIX = "auspex.choice.";

/** Checks the last choices: fieldsets name the key under which their choice is kept. */
export function restoreChoices(root: ParentNode): void {
  for (const fieldset of root.querySelectorAll<HTMLElement>("[data-choice]")) {
    const chosen = keptChoice(fieldset.dataset.choice ?? "");
    for (const radio of fieldset.querySelectorAll<HTMLInputElement>("input"))
      if (radio.value === chosen) radio.checked = true;
  }
}

/** @param target of an event `change` */
export function noteChoice(target: EventTarget | null): void {
  if (!(target instanceof HTMLInputElement)) return;
  const key = target.closest<HTMLElement>("[data-choice]")?.dataset.choice;
  if (key !== undefined) keepChoice(key, target.value);
}

/** Stores a text. @returns whether the browser stores it: its storage may be full or off */
export function store(storage: Storage, key: string, text: string): boolean {
  try {
    storage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

export const keepChoice = (key: string, value: string): boolean =>
  store(localStorage, PREFIX + key, value);

export function keptChoice(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null;
  }
}
