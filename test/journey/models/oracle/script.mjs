// The script of a request: the last text of its user, when that is JSON.
//
//   say       the pieces of the answer; without it the oracle repeats the user's text
//   think     the pieces of the reasoning; refuse: those of a refusal
//   calls     tools to call: name and arguments
//   every     ms after each piece; wait: ms before all pieces
//   gate      a stream ends only when the file `.<gate>` is in the model's folder
//   finish    the reason to stop
//   fail      status and error of an answer that is refused
//   end       after the pieces: error (inside the stream), cut, hang, crash
//   usage     false: the oracle does not count tokens
//   echo      the answer is the body of the request
//   mark      a name to be counted by; tally: the answer is the count of that name
//   floats    for embeddings: the oracle ignores the format that was asked for

export class Refusal extends Error {
  constructor(status, body) {
    super(JSON.stringify(body));
    this.status = status;
    this.body = body;
  }
}

export function scriptOf(body, tally) {
  const asked = lastSaid(body);
  const script = asked.startsWith("{") ? JSON.parse(asked) : { say: ["You said: ", asked] };
  if (script.echo) script.say = [JSON.stringify(body)];
  if (script.tally) script.say = [JSON.stringify(tally.of(script.tally))];
  return script;
}

function lastSaid({ messages, input, prompt, query }) {
  const texts = [input, query, prompt].flat().filter((text) => typeof text === "string");
  if (texts.length > 0) return texts[0];
  if (prompt) return "";
  const items = messages ?? input;
  const last = items.at(-1);
  // The oracle continues with the answer of a tool.
  if (last.role === "tool") return `the tool says ${textOf(last.content)}`;
  const result = Array.isArray(last.content) && last.content.find(isResult);
  if (result) return `the tool says ${textOf(result.content)}`;
  if (last.type === "function_call_output") return `the tool says ${textOf(last.output)}`;
  const user = items.findLast(({ role }) => role === "user");
  return user ? textOf(user.content) : "";
}

const isResult = ({ type }) => type === "tool_result";

const textOf = (content) =>
  typeof content === "string" ? content : content.map(({ text = "" }) => text).join("");
