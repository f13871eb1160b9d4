-- An upload that a collaborator publishes becomes the owner's, with its bytes. It is completed, so it has no parts.
CREATE TRIGGER uploads_moved AFTER UPDATE OF user_id ON uploads WHEN OLD.user_id <> NEW.user_id BEGIN
	UPDATE file_bytes SET bytes = bytes - OLD.size WHERE user_id = OLD.user_id;
	INSERT INTO file_bytes (user_id, bytes) VALUES (NEW.user_id, NEW.size)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
	UPDATE account_bytes SET bytes = bytes - (512 + length(CAST(coalesce(OLD.name, '') AS BLOB))) WHERE user_id = OLD.user_id;
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 512 + length(CAST(coalesce(NEW.name, '') AS BLOB)))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
