/** The chat of the playground. */
import { Chat } from "./parts/chat/chat.ts";

const root = document.querySelector<HTMLElement>("[data-chat]");
if (root) new Chat(root);
