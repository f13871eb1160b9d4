/** Sliders beside the fields of numbers: each follows the other. */

export function attachSliders(root: HTMLElement): void {
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
    const follow = () => {
      const isEmpty = field.value.trim() === "";
      // It has to stand somewhere: that this means nothing is seen.
      slider.toggleAttribute("data-unset", isEmpty);
      if (!isEmpty && Number.isFinite(Number(field.value))) slider.value = field.value;
    };
    field.addEventListener("input", follow);
    follow();
  }
}
