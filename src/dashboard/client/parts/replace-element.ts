/**
 * Replaces an element by a newer version, unless they are equal. Open details stay open, and the
 * focus moves to the same control, without scrolling.
 */
export function replaceElement(old: HTMLElement, now: HTMLElement): void {
  const unfolded = [...old.querySelectorAll("details")].map(({ open }) => open);
  for (const [n, details] of [...now.querySelectorAll("details")].entries())
    details.open = unfolded[n] ?? details.open;
  if (old.outerHTML === now.outerHTML) return;
  keepFocus(old, () => {
    old.replaceWith(now);
    return now;
  });
}

/**
 * @param root contains what is replaced
 * @param replace returns the element that contains the new controls
 */
export function keepFocus(root: HTMLElement, replace: () => ParentNode): void {
  const { activeElement: old } = document;
  const focused = old instanceof HTMLElement && root.contains(old) ? old : undefined;
  const name = focused && nameOf(focused);
  const now = replace();
  if (!focused || document.activeElement !== document.body) return;
  const controls = [...now.querySelectorAll<HTMLElement>("button, a, summary")];
  const same =
    controls.find((control) => nameOf(control) === name) ??
    controls.find(({ textContent }) => textContent === focused.textContent) ??
    // The first control gets the focus if the focused one is gone, as when "Run again" replaces "Cancel".
    controls[0];
  same?.focus({ preventScroll: true });
}

const nameOf = (control: HTMLElement) =>
  control.getAttribute("href") ?? control.closest("form")?.action ?? control.textContent;
