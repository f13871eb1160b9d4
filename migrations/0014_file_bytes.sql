CREATE TABLE `file_bytes` (
	`user_id` text PRIMARY KEY NOT NULL,
	`bytes` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `uploads_prediction` ON `uploads` (`prediction_id`) WHERE prediction_id IS NOT NULL;
--> statement-breakpoint
INSERT INTO file_bytes (user_id, bytes) SELECT user_id, sum(size) FROM uploads GROUP BY user_id;
--> statement-breakpoint
CREATE TRIGGER uploads_sized AFTER INSERT ON uploads BEGIN
	INSERT INTO file_bytes (user_id, bytes) VALUES (NEW.user_id, NEW.size)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER uploads_unsized AFTER DELETE ON uploads BEGIN
	UPDATE file_bytes SET bytes = bytes - OLD.size WHERE user_id = OLD.user_id;
END;
--> statement-breakpoint
-- The row of nobody has the sum of all accounts.
INSERT INTO account_bytes (user_id, bytes) SELECT '', coalesce(sum(bytes), 0) FROM account_bytes;
--> statement-breakpoint
CREATE TRIGGER account_bytes_added AFTER INSERT ON account_bytes WHEN NEW.user_id <> '' BEGIN
	UPDATE account_bytes SET bytes = bytes + NEW.bytes WHERE user_id = '';
END;
--> statement-breakpoint
CREATE TRIGGER account_bytes_changed AFTER UPDATE OF bytes ON account_bytes WHEN NEW.user_id <> '' BEGIN
	UPDATE account_bytes SET bytes = bytes + NEW.bytes - OLD.bytes WHERE user_id = '';
END;
--> statement-breakpoint
CREATE TRIGGER account_bytes_removed AFTER DELETE ON account_bytes WHEN OLD.user_id <> '' BEGIN
	UPDATE account_bytes SET bytes = bytes - OLD.bytes WHERE user_id = '';
END;
