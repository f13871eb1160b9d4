/** What is wrong with a control, below it and for those who do not see it. */

/** @param message undefined: nothing is. @returns whether that is news */
export function setFieldError(control: HTMLElement, message: string | undefined): boolean {
  const id = `${control.id}-error`;
  const shown = document.getElementById(id);
  if ((shown?.textContent ?? undefined) === message) return false;
  const others = (control.getAttribute("aria-describedby") ?? "")
    .split(" ")
    .filter((one) => one && one !== id);
  shown?.remove();
  if (message === undefined) {
    control.removeAttribute("aria-invalid");
  } else {
    const issue = document.createElement("p");
    issue.className = "field-error";
    issue.id = id;
    issue.textContent = message;
    control.closest(".field")?.append(issue);
    control.setAttribute("aria-invalid", "true");
    others.push(id);
  }
  if (others.length > 0) control.setAttribute("aria-describedby", others.join(" "));
  else control.removeAttribute("aria-describedby");
  return true;
}
