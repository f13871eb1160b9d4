/** The chat of the playground. */
import { VERSION_FIELD } from "../playground/control-names.ts";
import { Chat } from "./parts/chat/chat.ts";

const root = document.querySelector<HTMLElement>("[data-chat]");
if (root) new Chat(root);

const versions = document.querySelector<HTMLSelectElement>(`#${VERSION_FIELD}`);
versions?.form?.querySelector("button")?.remove();
versions?.addEventListener("change", () => versions.form?.requestSubmit());
