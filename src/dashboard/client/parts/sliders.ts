/** Sliders of number fields: each follows the other. */
export function attachSliders(root: HTMLElement): void {
  for (const slider of root.querySelectorAll<HTMLInputElement>("[data-slider]")) {
    const field = slider.parentElement?.querySelector<HTMLInputElement>("[name]");
    if (!field) continue;
    slider.hidden = false;
    slider.addEventListener("input", (event) => {
      // Listeners expect input events from the field.
      event.stopPropagation();
      field.value = slider.value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    const follow = () => {
      const isEmpty = field.value.trim() === "";
      // A slider always has a position: it is at its beginning, and shows none, while the field is empty.
      slider.toggleAttribute("data-unset", isEmpty);
      if (isEmpty) slider.value = slider.min;
      else if (Number.isFinite(Number(field.value))) slider.value = field.value;
    };
    field.addEventListener("input", follow);
    follow();
  }
}
