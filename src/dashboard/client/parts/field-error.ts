/** Shows the error of a control, tied to it for assistive technology. */

/** @param message undefined for no error. @returns whether the message has changed */
export function setFieldError(control: HTMLElement, message: string | undefined): boolean {
  const id = `${control.id}-error`;
  const current = document.getElementById(id);
  if ((current?.textContent ?? undefined) === message) return false;
  const others = (control.getAttribute("aria-describedby") ?? "")
    .split(" ")
    .filter((one) => one && one !== id);
  current?.remove();
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
