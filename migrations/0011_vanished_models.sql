-- A model may have gone by the time that something is written for it: that is for the foreign key to say,
-- and not for what has no owner to be weighed for.
DROP TRIGGER versions_weighed;
--> statement-breakpoint
CREATE TRIGGER versions_weighed AFTER INSERT ON versions BEGIN
	INSERT INTO account_bytes (user_id, bytes) SELECT owner_id, 512 + length(CAST(NEW.release_notes AS BLOB)) + length(CAST(NEW.schemas AS BLOB)) + length(CAST(NEW.configuration AS BLOB))
		FROM models WHERE id = NEW.model_id
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
DROP TRIGGER model_variables_weighed;
--> statement-breakpoint
CREATE TRIGGER model_variables_weighed AFTER INSERT ON model_variables BEGIN
	INSERT INTO account_bytes (user_id, bytes) SELECT owner_id, 256 + length(NEW.sealed)
		FROM models WHERE id = NEW.model_id
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
