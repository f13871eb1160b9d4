/** Renders a field of an input: messages as turns, anything else by its kind. */
import type { Json } from "../../protocol/common.ts";
import { type Message, messagesIn } from "./messages.ts";
import { OutputValue } from "./output.tsx";
import { outputOf } from "./output-kind.ts";

interface Props {
  value: Json;
  host: string;
  /** URL of the full JSON, where there is one. */
  all: string | undefined;
}

export function InputValue({ value, ...place }: Props) {
  const messages = messagesIn(value);
  if (!messages) return <OutputValue output={outputOf(value, place.host)} {...place} />;
  return (
    <ol class="messages">
      {messages.map((message) => (
        <Turn message={message} />
      ))}
    </ol>
  );
}

const Turn = ({ message: { role, text, others } }: { message: Message }) => (
  <li>
    <strong class="role">{role}</strong>
    {text !== "" && <div class="output-item text">{text}</div>}
    {others.length > 0 && <p class="hint">{others.join(", ")}</p>}
  </li>
);
