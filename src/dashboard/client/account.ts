/** Profile: previews a picture before the upload, and rejects one that is too large. */
import { messageOf, post } from "./parts/post.ts";

const MAX_BYTES = 1024 ** 2;

const input = document.querySelector<HTMLInputElement>("input[name=avatar]");
const portrait = document.querySelector<HTMLImageElement>("img[data-portrait]");

input?.addEventListener("change", () => {
  const [file] = input.files ?? [];
  const tooLarge = file !== undefined && file.size > MAX_BYTES;
  input.setCustomValidity(
    tooLarge ? "This picture is larger than 1 MB. Choose a smaller one." : "",
  );
  input.reportValidity();
  if (!file || !portrait || tooLarge) return;
  if (portrait.src.startsWith("blob:")) URL.revokeObjectURL(portrait.src);
  portrait.src = URL.createObjectURL(file);
  portrait.hidden = false;
});

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

const signInButton = document.querySelector<HTMLButtonElement>("[data-passkey]");
const addButton = document.querySelector<HTMLButtonElement>("[data-add-passkey]");

// Older browsers lack the JSON helpers and keep using passwords.
if (
  typeof PublicKeyCredential === "function" &&
  "parseCreationOptionsFromJSON" in PublicKeyCredential
) {
  enableButton(signInButton, signIn);
  enableButton(addButton, add);
}

function enableButton(
  button: HTMLButtonElement | null,
  act: (button: HTMLButtonElement) => Promise<void>,
) {
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    showMessage(undefined);
    try {
      await act(button);
    } catch (error) {
      showMessage(messageFor(error));
    } finally {
      button.disabled = false;
    }
  });
}

async function signIn(button: HTMLButtonElement): Promise<void> {
  const options: PublicKeyCredentialRequestOptionsJSON = await optionsFrom(
    "/auth/passkey/generate-authenticate-options",
  );
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await navigator.credentials.get({ publicKey });
  if (!(credential instanceof PublicKeyCredential)) return;
  await post("/auth/passkey/verify-authentication", { response: credential.toJSON() });
  location.assign(button.dataset.passkey ?? "/");
}

async function add(): Promise<void> {
  const options: PublicKeyCredentialCreationOptionsJSON = await optionsFrom(
    "/auth/passkey/generate-register-options",
  );
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await navigator.credentials.create({ publicKey });
  if (!(credential instanceof PublicKeyCredential)) return;
  const name = `Passkey of ${new Date().toLocaleDateString()}`;
  await post("/auth/passkey/verify-registration", { response: credential.toJSON(), name });
  location.reload();
}

const NOT_FRESH =
  "To add a passkey, you must have logged in within the last 15 minutes. Log out, log in again and retry.";

async function optionsFrom<Options>(address: string): Promise<Options> {
  const response = await fetch(address, { headers: { accept: "application/json" } });
  if (response.status === 403) throw new Error(NOT_FRESH);
  if (!response.ok) throw new Error("Reload the page and try again.");
  return response.json();
}

function messageFor(error: unknown): string {
  if (error instanceof DOMException && error.name === "NotAllowedError")
    return "Canceled or timed out. Try again.";
  if (error instanceof DOMException && error.name === "InvalidStateError")
    return "This device already has a passkey for this account.";
  return messageOf(error);
}

function showMessage(message: string | undefined): void {
  const element = document.getElementById("passkey-error");
  if (!element) return;
  element.textContent = message ?? "";
  element.hidden = message === undefined;
}
