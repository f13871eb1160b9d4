/** Once a run is shown, the output of an example is not. */
export function leaveExample(root: ParentNode): void {
  root.querySelector("[data-example-output]")?.remove();
  root.querySelector("[data-examples] [aria-current]")?.removeAttribute("aria-current");
}
