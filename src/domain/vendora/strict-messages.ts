/**
 * The messages of a chat as strict chat templates accept them: one system message, which comes first;
 * results of tools that are text only; and no two messages of the user in a row.
 */
import type { Json } from "../../protocol/common.ts";
import { type Fields, fieldsOf, isFields, listOf, textOf } from "./response-json.ts";
import { knownEffort, withoutDependents } from "./strict-fields.ts";

/** A message, and the path in the caller's body that it comes from. */
export interface LocatedMessage {
  message: Fields;
  path: string;
  /** The paths of its tool calls. */
  callPaths: string[];
}

/** An item or a message of any convention, and its path in the caller's body. */
export interface Placed {
  entry: Fields;
  path: string;
}

export const placed = (entries: Json | undefined, pathOf: (index: number) => string): Placed[] =>
  listOf(entries).map((entry, index) => ({ entry: fieldsOf(entry), path: pathOf(index) }));

export type Kind = "system" | "result" | "other";

/**
 * System messages before the conversation are hoisted: they belong into the one that comes first. Those in
 * the middle stay at their place, for the caller to fold into the user's turn, so that the server finds the
 * beginning of the prompt in its cache. They come after the results of tools, which follow their calls.
 */
export function splitSystem(entries: Placed[], kindOf: (entry: Fields) => Kind) {
  const begin = entries.findIndex(({ entry }) => kindOf(entry) !== "system");
  const leading = begin < 0 ? entries : entries.slice(0, begin);
  const rest: Placed[] = [];
  const waiting: Placed[] = [];
  for (const one of begin < 0 ? [] : entries.slice(begin)) {
    const kind = kindOf(one.entry);
    if (kind === "system") {
      waiting.push(one);
      continue;
    }
    if (kind === "other") rest.push(...waiting.splice(0));
    rest.push(one);
  }
  return { leading, rest: [...rest, ...waiting] };
}

export const isSystemRole = (role: Json | undefined) => role === "system" || role === "developer";

/** Tells the model what is not the user's own text. */
const [OPEN, CLOSE] = ["<system-reminder>", "</system-reminder>"];

/** The content of a system message in the middle, as that of the user. @param type of a text part */
export function reminder(content: Json | undefined, type = "text"): Json {
  if (typeof content === "string") return [OPEN, content, CLOSE].join("\n");
  const mark = (text: string): Fields => ({ type, text });
  return [mark(OPEN), ...listOf(content), mark(CLOSE)];
}

/** Images and files among the results of tools follow them, in a message of the user. */
export function withTextResults(messages: LocatedMessage[]): LocatedMessage[] {
  const all: LocatedMessage[] = [];
  const attached: LocatedMessage[] = [];
  for (const one of messages) {
    const { message, path } = one;
    const { role, content } = message;
    if (role !== "tool") all.push(...attached.splice(0));
    if (role !== "tool" || !Array.isArray(content)) {
      all.push(one);
      continue;
    }
    const others = content.filter((part) => fieldsOf(part).type !== "text");
    const text = content.map((part) => textOf(fieldsOf(part).text)).filter(Boolean);
    all.push({ ...one, message: { ...message, content: text.join("\n") } });
    if (others.length > 0)
      attached.push({ message: { role: "user", content: others }, path, callPaths: [] });
  }
  return withJoinedUsers([...all, ...attached]);
}

export function withJoinedUsers(messages: LocatedMessage[]): LocatedMessage[] {
  const all: LocatedMessage[] = [];
  for (const one of messages) {
    const last = all.at(-1);
    if (!last || !isPlainUser(last.message) || !isPlainUser(one.message)) all.push(one);
    else {
      const content = joinedContent([last.message.content, one.message.content], "\n");
      all[all.length - 1] = { ...last, message: { role: "user", content } };
    }
  }
  return all;
}

const isPlainUser = ({ role, content, ...rest }: Fields) =>
  role === "user" && Object.keys(rest).length === 0;

export const joinedContent = (contents: (Json | undefined)[], glue: string): Json =>
  contents.every((one) => typeof one === "string")
    ? contents.join(glue)
    : contents.flatMap((one) =>
        typeof one === "string" ? [{ type: "text", text: one }] : listOf(one),
      );

/** @throws NotSupportedByChat */
export function strictChat(request: Fields): Fields {
  const { messages, reasoning_effort: effort } = request;
  return withoutDependents({
    ...request,
    ...(Array.isArray(messages) &&
      messages.every(isFields) && { messages: strictMessages(messages) }),
    ...(effort != null && { reasoning_effort: knownEffort(effort) }),
  });
}

function strictMessages(messages: Fields[]): Fields[] {
  const { leading, rest } = splitSystem(
    placed(messages, (index) => `messages[${index}]`),
    ({ role }) => (isSystemRole(role) ? "system" : role === "tool" ? "result" : "other"),
  );
  const system = leading.map(({ entry }) => entry);
  const [first] = system;
  const turns = rest.map(({ entry, path }): LocatedMessage => {
    const message = isSystemRole(entry.role)
      ? { role: "user", content: reminder(entry.content) }
      : entry;
    return { message, path, callPaths: [] };
  });
  return [
    ...(first
      ? [
          {
            ...first,
            role: "system",
            content: joinedContent(
              system.map(({ content }) => content),
              "\n\n",
            ),
          },
        ]
      : []),
    ...withTextResults(turns).map(({ message }) => message),
  ];
}
