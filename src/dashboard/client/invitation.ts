/**
 * Submits the invitation token in a form. It stands in the fragment of the link, which browsers do
 * not send, so that it appears in no request log.
 */
const form = document.querySelector<HTMLFormElement>("form[data-invitation]");
const field = form?.querySelector<HTMLInputElement>("input[name=invitation]");

function open(): void {
  const token = new URLSearchParams(location.hash.slice(1)).get("invitation");
  if (!form || !field || !token) return;
  history.replaceState(null, "", location.pathname);
  field.value = token;
  form.submit();
}

open();
// A link to the page that is already open only changes the fragment.
addEventListener("hashchange", open);
