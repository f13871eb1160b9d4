/**
 * The link of an invitation has its token behind the `#`, which browsers send to nobody: no log of
 * requests has it. It goes on in a form.
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
// Where this page is open already a link loads none.
addEventListener("hashchange", open);
