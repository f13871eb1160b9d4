/** The reference: all its samples are in the language that was chosen last. */
const KEY = "code-language";

const radios = [...document.querySelectorAll<HTMLInputElement>("[data-languages] input")];

function choose(language: string): void {
  for (const radio of radios) if (radio.value === language) radio.checked = true;
}

/** The browser's storage may be off. */
function remembered(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

choose(remembered() ?? "");

document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !radios.includes(target)) return;
  // The chosen control stays where it is, although samples above it change their height.
  const before = target.getBoundingClientRect().top;
  choose(target.value);
  scrollBy({ top: target.getBoundingClientRect().top - before, behavior: "instant" });
  try {
    localStorage.setItem(KEY, target.value);
  } catch {
    // The choice holds for this page alone.
  }
});
