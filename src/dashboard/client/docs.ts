/** The reference: all its samples are in the chosen language, which `page.ts` keeps. */
const radios = [...document.querySelectorAll<HTMLInputElement>("[data-languages] input")];

document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !radios.includes(target)) return;
  // The chosen control stays where it is, although samples above it change their height.
  const before = target.getBoundingClientRect().top;
  for (const radio of radios) if (radio.value === target.value) radio.checked = true;
  scrollBy({ top: target.getBoundingClientRect().top - before, behavior: "instant" });
});
