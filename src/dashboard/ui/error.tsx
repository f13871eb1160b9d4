/** The error page. */
import type { ProblemError } from "../../errors.ts";

export const ErrorPage = ({
  title,
  problem,
  requestId,
}: {
  title: string;
  problem: ProblemError | undefined;
  requestId: string;
}) => (
  <div class="empty">
    <h1>{title}</h1>
    <p>
      {problem?.message ??
        "Something went wrong on our end. Try again. If it keeps happening, give an operator this request ID:"}
    </p>
    {!problem && (
      <p>
        <code>{requestId}</code>
      </p>
    )}
    <p>
      {problem?.code === "unauthenticated" ? <a href="/sign-in">Sign in</a> : <a href="/">Home</a>}
    </p>
  </div>
);
