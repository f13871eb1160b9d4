/** Signs in with a passkey and adds passkeys; better-auth verifies them. */
import { post } from "./parts/post.ts";

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
  "To add a passkey, you must have signed in within the last 15 minutes. Sign out, sign in again and retry.";

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
  return error instanceof Error ? error.message : String(error);
}

function showMessage(message: string | undefined): void {
  const element = document.getElementById("passkey-error");
  if (!element) return;
  element.textContent = message ?? "";
  element.hidden = message === undefined;
}
