/** Sliders beside the fields of numbers: each follows the other. */

export function slide(root: HTMLElement): void {
  for (const slider of root.querySelectorAll<HTMLInputElement>("[data-slider]")) {
    const field = slider.parentElement?.querySelector<HTMLInputElement>("[name]");
    if (!field) continue;
    slider.hidden = false;
    slider.addEventListener("input", (event) => {
      // It is the field that is typed into.
      event.stopPropagation();
      field.value = slider.value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    field.addEventListener("input", () => {
      if (field.value.trim() !== "" && Number.isFinite(Number(field.value)))
        slider.value = field.value;
    });
  }
}
