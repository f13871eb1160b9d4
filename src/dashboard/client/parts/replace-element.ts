/** HTML in the place of older: the reader is left where they are. */

/**
 * Replaces one element by a newer one. Where nothing has changed nothing is touched; what is
 * unfolded stays so, and the focus goes to the same control, without scrolling to it.
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
 * @param root with what is replaced in it
 * @param replace returns where the same controls are now
 */
export function keepFocus(root: HTMLElement, replace: () => ParentNode): void {
  const { activeElement: old } = document;
  const held = old instanceof HTMLElement && root.contains(old) ? old : undefined;
  const name = held && nameOf(held);
  const now = replace();
  if (!held || document.activeElement !== document.body) return;
  const controls = [...now.querySelectorAll<HTMLElement>("button, a, summary")];
  const same =
    controls.find((control) => nameOf(control) === name) ??
    controls.find(({ textContent }) => textContent === held.textContent) ??
    // Of a control that is gone the next best: "Run again" stands where "Cancel" was.
    controls[0];
  same?.focus({ preventScroll: true });
}

const nameOf = (control: HTMLElement) =>
  control.getAttribute("href") ?? control.closest("form")?.action ?? control.textContent;
