/** Once another conversation begins, nothing on the page leads back into the run that was opened. */
export function leaveRun(): void {
  document.querySelector("[data-run-note]")?.remove();
  document.querySelector('.playground-version [name="prediction"]')?.remove();
  for (const link of document.querySelectorAll<HTMLAnchorElement>(".segments a")) {
    const address = new URL(link.href);
    address.searchParams.delete("prediction");
    link.href = address.pathname + address.search;
  }
}
