/** The first page: its steps tick by themselves while the tab is visible, until all are done. */
import { keepCurrent } from "./parts/current-page.ts";
import { enhance } from "./parts/enhance.ts";
import { keepFocus } from "./parts/replace-element.ts";
import "./predictions.ts";

const REFRESH_MS = 4_000;

const stepsIn = (page: Document) => page.querySelector<HTMLElement>("[data-steps]");

/** An open step that is still to be done stays if it has a command, which may just be copied. */
function update(page: Document): void {
  const old = stepsIn(document);
  const steps = stepsIn(page);
  // A user who has done all steps gets another page.
  if (old && !steps) return location.reload();
  if (!old || !steps) return;
  enhance(steps);
  keepFocus(old, () => {
    for (const step of steps.querySelectorAll<HTMLElement>("[data-part]")) {
      const before = old.querySelector(`[data-part="${CSS.escape(step.dataset.part ?? "")}"]`);
      if (!before) continue;
      keepUnfolded(before, step);
      if (before.outerHTML === step.outerHTML) continue;
      const isOpen = !before.classList.contains("later") && !step.classList.contains("done");
      if (!isOpen || !before.querySelector("[data-copy]")) before.replaceWith(step);
    }
    return old;
  });
}

function keepUnfolded(before: Element, step: HTMLElement): void {
  const folds = before.querySelectorAll("details");
  for (const [n, one] of step.querySelectorAll("details").entries())
    one.open = folds[n]?.open ?? one.open;
}

keepCurrent(() => (stepsIn(document) ? REFRESH_MS : undefined), update);
