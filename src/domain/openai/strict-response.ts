/**
 * A request for a server that has responses itself, in the form that strict servers and chat templates
 * accept.
 */
import { withPlainTools } from "./plain-tools.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";
import { historyPart, kindOfItem } from "./response-messages.ts";
import { knownEffort, withoutDependents } from "./strict-fields.ts";
import {
  isSystemRole,
  joinedContent,
  objectText,
  placed,
  reminder,
  splitSystem,
} from "./strict-messages.ts";

/** @throws NotSupportedByChat */
export function strictResponse(asked: Fields): Fields {
  const request = withPlainTools(asked);
  const { reasoning, input } = request;
  const { effort } = fieldsOf(reasoning);
  return withoutDependents({
    ...(Array.isArray(input) ? withSystemFirst(request) : request),
    ...(effort != null && { reasoning: { ...fieldsOf(reasoning), effort: knownEffort(effort) } }),
  });
}

/**
 * Joins system items before the conversation with the instructions, of which servers make a system message,
 * too.
 */
function withSystemFirst({ instructions, input, ...request }: Fields): Fields {
  const { leading, rest } = splitSystem(
    placed(input, (index) => `input[${index}]`),
    kindOfItem,
  );
  const texts = [textOf(instructions), ...leading.map(({ entry }) => textIn(entry))];
  const first = { type: "message", role: "system", content: texts.filter(Boolean).join("\n\n") };
  const turns = joinedUsers(
    rest.map(({ entry }) =>
      isSystemRole(entry.role)
        ? { type: "message", role: "user", content: reminder(entry.content, "input_text") }
        : withKnownParts(entry),
    ),
  );
  if (leading.length > 0) return { ...request, input: [first, ...turns] };
  return { ...request, ...(instructions != null && { instructions }), input: turns };
}

/** Joins messages of the user: templates expect that the user and the assistant take turns. */
function joinedUsers(items: Fields[]): Fields[] {
  const all: Fields[] = [];
  for (const item of items) {
    const last = all.at(-1);
    if (item.role === "user" && last?.role === "user") {
      const content = joinedContent([last.content, item.content], "\n", "input_text");
      all[all.length - 1] = { type: "message", role: "user", content };
    } else all.push(item);
  }
  return all;
}

/** Returns an item of history, with parts of unknown types as text. */
function withKnownParts(item: Fields): Fields {
  const { type, role, content, output } = item;
  if (role === "assistant" && Array.isArray(content))
    return { ...item, content: content.map((part) => historyPart(fieldsOf(part), "output_text")) };
  if (type === "function_call_output" && Array.isArray(output))
    return { ...item, output: output.map((part) => historyPart(fieldsOf(part), "input_text")) };
  return type === "function_call" ? { ...item, arguments: objectText(item.arguments) } : item;
}

const textIn = ({ content }: Fields): string =>
  typeof content === "string"
    ? content
    : listOf(content)
        .map((part) => textOf(fieldsOf(part).text))
        .filter(Boolean)
        .join("\n");
