//! Words by what they do in a sentence that addresses a model. One word proves nothing; `rules.rs`
//! says which of them count together.
//!
//! A star ends a stem. Words are matched in the folded reading, so case, accents, signs within words
//! and digits for letters make no difference.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::fold::{Folded, folded_word};

/// What a word does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Orders to drop something. An English verb must be an order, see [`is_order`].
    Drop,
    /// Says that something holds no more.
    Void,
    /// What came before.
    Earlier,
    /// Everything, or what is the reader's.
    Whole,
    /// What a model is told by.
    Instruction,
    /// What anybody is told by.
    Rule,
    /// New orders begin.
    New,
    /// Makes the reader, or the writer, somebody.
    Become,
    /// Somebody a model may be made.
    Persona,
    /// Speaks with a power over the model.
    Authority,
    /// Uses that power.
    Demand,
    /// Forbids to tell.
    Conceal,
    /// Who is not told.
    Person,
    /// What is not told: the very thing at hand.
    This,
    /// Asks to keep.
    Keep,
    /// For all time.
    Forever,
    /// Where a model keeps things.
    Memory,
    /// What a model says.
    Answer,
    /// All of them.
    Every,
    /// Puts something in.
    Add,
    /// Lets something pass.
    Approve,
    /// Something that somebody should look at.
    Reviewed,
    /// Without looking.
    Blindly,
    /// Carries something away.
    Send,
    /// Asks to say something aloud.
    Tell,
    /// What a model was told in confidence.
    Brief,
    /// What must not be carried away.
    Secret,
    /// Where it is carried.
    Address,
    /// Asks for the use of a tool.
    Call,
    /// The tool.
    Tool,
    /// What it is used with.
    With,
    /// Whom it is said to.
    Model,
}

use Class as C;

#[rustfmt::skip]
const WORDS: &[(Class, &[&str])] = &[
    (C::Drop, &[
        "ignore", "disregard", "forget", "override", "overrule", "bypass", "discard", "dismiss", "neglect",
        "set aside", "throw away", "throw out", "pay no attention to", "do not follow", "do not obey",
        "dont follow", "dont obey", "stop following", "stop obeying", "no longer follow", "abandon", "erase",
        "leave aside", "put aside",
        "игнорируй*", "проигнорируй*", "забудь*", "не следуй*", "не выполняй*", "отбрось*", "пренебреги*",
        "не обращай* внимания", "отмени*", "не учитывай*", "не соблюдай*", "сбрось*", "откажись от", "откажитесь от",
        "ignoriere*", "vergiss", "vergessen sie", "missachte*", "beachte nicht", "beachten sie nicht",
        "verwirf", "verwerfe*", "befolge nicht", "befolge keine", "setze dich uber", "lass alle", "uberschreibe*",
        "ignorez", "oublie", "oubliez", "ne tiens pas compte", "ne tenez pas compte", "neglige", "negligez",
        "ne suis plus", "ne suivez plus", "ne respecte* plus", "fais abstraction", "faites abstraction", "ecarte*",
        "ignora", "ignore usted", "ignoren", "olvida", "olvide", "olviden", "olvidate", "descarta", "descarte", "omite",
        "haz caso omiso", "haga caso omiso", "no sigas", "no siga", "no hagas caso", "pasa por alto", "desobedece",
        "忽略", "忘记", "忘掉", "无视", "不要遵守", "不要遵循", "不再遵守", "不理会", "抛弃", "丢弃", "忽視", "別理",
        "無視", "忘れ", "従わない", "従うな", "破棄し", "捨て",
    ]),
    (C::Void, &[
        "no longer apply", "no longer valid", "are void", "is void", "null and void", "are revoked", "are cancelled",
        "are canceled", "hereby revoked", "are obsolete", "are superseded", "no longer bound", "not bound by",
        "больше не действуют", "больше не действует", "отменяются", "отменены", "утратили силу", "недействительны",
        "gelten nicht mehr", "sind ungultig", "sind aufgehoben", "ne s'appliquent plus", "sont annulees", "sont caduques",
        "ya no se aplican", "ya no aplican", "quedan anuladas", "quedan sin efecto", "作废", "失效", "不再有效", "無効", "取り消",
    ]),
    (C::Earlier, &[
        "previous", "previously", "prior", "above", "earlier", "preceding", "foregoing", "aforementioned", "original", "initial",
        "you were given", "you have been given", "given to you", "you were told", "you have been told", "you got", "you received",
        "you have received", "before this", "so far", "until now", "up to now", "system", "developer", "came before", "hitherto",
        "предыдущ*", "прежн*", "вышеуказан*", "выше", "раннее", "ранее", "прошл*", "системн*", "полученн*", "до этого", "данные тебе",
        "изначальн*", "исходн*", "предшествующ*", "вышестоящ*",
        "vorherig*", "bisherig*", "obig*", "fruher*", "vorangegangen*", "vorig*", "vorstehend*", "ursprunglich*", "oben", "zuvor",
        "precedent*", "anterieur*", "ci-dessus", "ci dessus", "d'avant", "initiale*", "prealable*", "recues",
        "anterior*", "previa*", "previo*", "de arriba", "precedente*", "inicial*", "recibida*", "hasta ahora",
        "之前", "以前", "以上", "上述", "先前", "前面", "上面", "此前", "原有", "早前", "系统",
        "前の", "これまで", "上記", "先ほど", "今まで", "システム", "元の", "与えられた",
    ]),
    (C::Whole, &[
        "all", "any", "every", "everything", "your", "your own", "these", "those", "whatever", "each",
        "все", "всё", "всех", "всеми", "любые", "твои", "ваши", "свои", "своих", "alle", "allen", "samtliche*", "jegliche*", "deine*", "ihre",
        "toutes", "tous", "tes", "vos", "tout", "todas", "todos", "tus", "sus", "todo",
        "所有", "一切", "全部", "你的", "任何", "すべて", "全て", "全部", "あらゆる", "あなたの",
    ]),
    (C::Instruction, &[
        "instruction", "instructions", "directive", "directives", "prompt", "prompts", "guideline", "guidelines",
        "system message", "programming", "guardrails", "safety rules", "safety guidelines", "training", "briefing",
        "инструкци*", "указани*", "промпт*", "директив*", "установк*", "предписани*", "наставлени*",
        "anweisung*", "instruktion*", "vorgabe*", "richtlinie*", "direktive*", "weisung*", "systemprompt*",
        "consigne*", "directive*", "instruccion*", "indicacion*", "directriz", "directrices", "pautas",
        "指令", "指示", "提示词", "提示", "规定", "設定", "命令", "プロンプト", "インストラクション", "指図",
    ]),
    (C::Rule, &[
        "rule", "rules", "command", "commands", "order", "orders", "constraint", "constraints", "restriction", "restrictions",
        "policy", "policies", "message", "messages", "context", "limitations", "safeguards", "what you were told", "requests", "tasks",
        "правил*", "команд*", "приказ*", "ограничени*", "запрет*", "требовани*", "распоряжени*", "сообщени*",
        "regel*", "befehl*", "einschrankung*", "auftrag*", "auftrage", "beschrankung*", "regle*", "ordre*", "contrainte*", "restriction*", "limite*",
        "regla*", "orden", "ordenes", "restriccion*", "norma*", "mandato*", "规则", "要求", "限制", "约束", "任务", "ルール", "規則", "制約", "制限", "決まり",
    ]),
    (C::New, &[
        "new instructions", "new instruction", "new directive", "new directives", "your new task", "your new goal", "your real task", "your actual task",
        "your only task", "new system prompt", "updated instructions", "instead obey", "follow only these", "follow these instructions instead",
        "новые инструкции", "новая инструкция", "твоя новая задача", "ваша новая задача", "новые указания", "neue anweisung*", "deine neue aufgabe",
        "nouvelles instructions", "nouvelle consigne*", "ta nouvelle tache", "nuevas instrucciones", "tu nueva tarea", "新的指令", "新指令", "你的新任务", "新しい指示", "新たな指示",
    ]),
    (C::Become, &[
        "you are now", "youre now", "you are no longer", "from now on you are", "from now on you", "act as", "acting as", "pretend to be", "pretend you are", "pretend that you",
        "roleplay as", "role play as", "behave as", "behave like", "assume the role", "take on the role", "play the role", "simulate", "you will become", "switch to", "enter", "activate", "imagine you are",
        "ты теперь", "теперь ты", "вы теперь", "теперь вы", "отныне ты", "представь что ты", "представь, что ты", "действуй как", "веди себя как", "притворись", "сыграй роль", "перейди в", "войди в", "ты больше не", "включи",
        "du bist jetzt", "du bist nun", "du bist ab", "sie sind jetzt", "sie sind nun", "du bist nicht mehr", "verhalte dich", "tu so als", "spiele die rolle", "agiere als", "wechsle in", "schalte in",
        "tu es maintenant", "vous etes maintenant", "tu es desormais", "vous etes desormais", "tu n'es plus", "agis comme", "agissez comme", "comporte toi", "comporte-toi", "fais semblant", "joue le role", "passe en mode", "passe en",
        "ahora eres", "eres ahora", "a partir de ahora eres", "desde ahora eres", "actua como", "actue como", "finge ser", "finge que eres", "comportate como", "haz el papel", "ya no eres", "entra en", "activa el",
        "你现在是", "从现在起你是", "从现在开始你", "扮演", "假装你是", "充当", "你不再是", "进入", "あなたは今", "あなたは今から", "今からあなたは", "これからあなたは", "として振る舞", "のふりをし", "になりき", "演じて", "に切り替え", "もはや",
    ]),
    (C::Persona, &[
        "unrestricted", "without restrictions", "without any restrictions", "no restrictions", "without limits", "without rules", "no rules", "without filters", "unfiltered", "uncensored", "jailbroken", "jailbreak",
        "developer mode", "debug mode", "god mode", "admin mode", "maintenance mode", "dan", "root access", "do anything now", "free of all rules", "free from", "bound by", "not bound",
        "administrator", "root user", "superuser", "language model", "ai assistant", "ai", "ai model", "an assistant that", "a helpful assistant", "an agent", "a bot", "evil", "hacker", "opposite mode", "no filters", "unlimited",
        "без ограничений", "без правил", "без цензуры", "без фильтров", "режим разработчика", "режиме разработчика", "режим отладки", "режим администратора", "администратор*", "ассистент*", "бот", "модель без", "нейросет*", "свободн* от", "взломщик*", "хакер*",
        "ohne einschrankung*", "ohne regeln", "ohne beschrankung*", "ohne filter", "uneingeschrankt*", "entwicklermodus", "debugmodus", "administrator*", "ki", "assistent*", "unzensiert*",
        "sans restriction*", "sans limite*", "sans filtre*", "sans regle*", "mode developpeur", "mode debug", "administrateur*", "une ia", "assistant*", "non censure*", "pirate",
        "sin restricciones", "sin limites", "sin filtros", "sin reglas", "sin censura", "modo desarrollador", "modo depuracion", "administrador*", "una ia", "asistente*", "hacker*",
        "没有限制", "无限制", "不受限制", "不受约束", "开发者模式", "调试模式", "管理员", "没有规则", "助手", "人工智能", "黑客", "制限のない", "制限なし", "無制限", "開発者モード", "デバッグモード", "管理者", "ルールのない", "アシスタント", "ハッカー", "検閲なし",
    ]),
    (C::Authority, &[
        "as the administrator", "as the system administrator", "as your administrator", "as an administrator", "as your developer", "as the developer", "as your creator", "as the owner of this system", "as your operator", "as the operator",
        "i am your developer", "i am your administrator", "i am the administrator", "i am the system administrator", "i am your creator", "i am the developer of", "this is your developer", "this is the system administrator", "this is your administrator", "this is the security team", "speaking as admin", "speaking as root", "on behalf of anthropic", "on behalf of openai", "message from anthropic", "message from openai", "message from the developers", "admin override", "administrator override", "system override",  "by order of the administrator",
        "я администратор", "я твой администратор", "я твой разработчик", "я ваш разработчик", "как администратор", "от имени администратора", "на правах администратора", "говорит администратор", "это администратор", "я твой создатель",
        "als administrator", "als dein entwickler", "ich bin dein entwickler", "ich bin der administrator", "ich bin dein administrator", "hier spricht der administrator", "im namen des administrators",
        "en tant qu'administrateur", "je suis ton developpeur", "je suis votre developpeur", "je suis l'administrateur", "ici l'administrateur", "au nom de l'administrateur",
        "como administrador", "soy tu desarrollador", "soy el administrador", "soy tu administrador", "en nombre del administrador", "habla el administrador",
        "我是管理员", "我是你的开发者", "我是系统管理员", "作为管理员", "以管理员", "我是你的创造者", "私は管理者", "私はあなたの開発者", "管理者として", "システム管理者として", "管理者権限で",
    ]),
    (C::Demand, &[
        "you must", "you will", "you shall", "i order you", "i command you", "i instruct you", "i authorize you", "i authorise you", "i require you", "i permit you", "i grant you", "i hereby", "i need you to", "obey", "comply", "follow my", "do as i say", "execute", "disable", "unlock", "grant", "allow", "you have permission", "you are authorized", "you are authorised", "you are allowed", "carry out",
        "приказываю", "требую", "разрешаю", "ты должен", "вы должны", "выполни*", "подчинись", "подчиняйся", "отключи*", "слушайся",
        "befehle ich", "ich befehle", "ich weise dich an", "weise ich dich an", "du musst", "gehorche", "fuhre aus", "deaktiviere", "ich erlaube dir", "erlaube ich dir",
        "je t'ordonne", "je vous ordonne", "tu dois", "vous devez", "obeis", "obeissez", "execute*", "desactive*", "je t'autorise",
        "te ordeno", "le ordeno", "debes", "obedece", "ejecuta", "desactiva", "te autorizo", "tienes que",
        "命令你", "要求你", "你必须", "授权你", "执行", "服从", "允许你", "命じ", "従いなさい", "従え", "許可し", "実行し", "しなければならない", "無効にし",
    ]),
    (C::Conceal, &[
        "do not tell", "dont tell", "never tell", "do not inform", "dont inform", "never inform", "do not mention", "dont mention", "never mention", "do not reveal", "dont reveal", "never reveal", "do not disclose", "never disclose", "do not notify", "dont notify", "never notify", "do not show", "dont show", "do not let", "dont let", "never let", "do not alert", "without telling", "without informing", "without notifying", "without mentioning", "hide this from", "hide it from", "conceal this from", "keep this from", "keep this hidden", "keep this secret", "keep it secret", "keep this between", "do not say", "do not report", "must not know", "should not know", "must not learn", "must never know", "must never learn", "say nothing", "stay silent", "keep quiet", "withhold",
        "не говори*", "не сообщай*", "не рассказывай*", "не упоминай*", "не показывай*", "не раскрывай*", "не уведомляй*", "скрой*", "скрывай*", "держи в секрете", "не должен знать", "не должен узнать", "втайне от", "молчи*", "умолчи*", "утаи*", "ни слова",
        "sage nicht", "sag nicht", "sag dem", "sage dem", "erwahne nicht", "erzahle nicht", "erzahl nicht", "verrate nicht", "verschweige", "verheimliche", "informiere nicht", "darf nicht wissen", "darf nichts", "darf nicht erfahren", "teile nicht", "halte geheim", "ohne den nutzer", "zeige nicht", "nichts davon",
        "ne dis pas", "ne dites pas", "ne dis rien", "ne dites rien", "n'informe pas", "n'informez pas", "ne mentionne pas", "ne mentionnez pas", "ne revele pas", "ne revelez pas", "cache a", "cache le", "cache ces", "cachez", "ne doit pas savoir", "garde secret", "sans en informer", "sans prevenir", "ne previens pas", "ne montre pas", "a l'insu",
        "no le digas", "no digas", "no informes", "no menciones", "no reveles", "no muestres", "oculta", "oculte", "no debe saber", "manten en secreto", "sin informar", "sin avisar", "sin decirle", "no avises", "no cuentes", "no le cuentes",
        "不要告诉", "别告诉", "不要向", "不要提及", "不要透露", "隐瞒", "不得告知", "不能让", "不要让", "对用户保密", "瞒着", "勿告知", "伝えない", "教えない", "言わない", "知らせない", "秘密に", "隠し", "知られない", "明かさない", "話さない", "告げない", "内緒",
    ]),
    (C::Person, &[
        "the user", "user", "users", "your user", "the human", "humans", "human", "the operator", "anyone", "anybody", "the person", "the reviewer", "reviewers", "the developer", "the owner", "the team", "whoever",
        "пользовател*", "человек*", "никому", "разработчик*", "оператор*", "ревьюер*", "владельц*", "nutzer*", "benutzer*", "anwender*", "menschen", "niemandem", "entwickler*", "utilisateur*", "humain*", "personne", "developpeur*", "usuari*", "humano*", "a nadie", "desarrollador*",
        "用户", "使用者", "人类", "任何人", "开发者", "ユーザー", "ユーザ", "利用者", "人間", "誰にも", "開発者",
    ]),
    (C::This, &[
        "this", "about this", "that you", "this instruction", "these instructions", "this message", "this note", "it", "what you did", "you did", "your actions", "these rules", "this rule", "this step", "you were told", "you received", "you are doing", "you read this", "you have read",
        "об этом", "про это", "этой инструкци*", "это", "эту", "этого", "этих", "что ты", "davon", "daruber", "diese*", "dass du", "hiervon", "de ceci", "de cela", "cette", "ces", "cet", "ceci", "que tu", "cela", "rien", "esto", "este", "esta", "estas", "que has", "ello", "nada",
        "这个", "此事", "这条", "这件事", "这些", "你的操作", "このこと", "この", "これ", "その",
    ]),
    (C::Keep, &[
        "remember", "save", "store", "memorize", "memorise", "save this", "store this", "save the following", "store the following", "keep this", "keep in mind", "write this", "record this", "save as", "persist", "add this", "retain", "commit this", "put this", "note this down", "keep in your", "burn this",
        "запомни*", "сохрани*", "запиши*", "помни*", "внеси", "занеси*", "merke dir", "merk dir", "speichere", "behalte", "notiere", "schreibe dies", "memorise", "memorisez", "souviens toi", "souviens-toi", "retiens", "retenez", "enregistre", "enregistrez", "sauvegarde*", "garde", "gardez",
        "recuerda", "recuerde", "memoriza", "memorice", "guarda", "guarde", "almacena", "graba", "记住", "牢记", "保存", "存入", "记录", "写入", "覚えて", "記憶し", "保存し", "記録し", "覚えろ", "忘れるな", "書き込",
    ]),
    (C::Forever, &[
        "forever", "permanently", "for all time", "for all future", "in all future", "in every future", "every future", "future sessions", "future conversations", "all sessions", "always", "from now on", "at all times", "until further notice", "never forget", "indefinitely", "for good", "henceforth", "for ever", "next sessions", "as long as you",
        "навсегда", "навечно", "всегда", "постоянно", "отныне", "впредь", "с этого момента", "во всех будущих", "на будущее", "fur immer", "dauerhaft", "immer", "von nun an", "ab jetzt", "ab sofort", "kunftig", "fur alle zukunft", "in zukunft",
        "pour toujours", "definitivement", "toujours", "desormais", "a jamais", "dorenavant", "a l'avenir", "en permanence", "para siempre", "permanentemente", "siempre", "de ahora en adelante", "a partir de ahora", "en adelante",
        "永远", "永久", "始终", "总是", "从现在起", "从今以后", "今后", "以后每次", "永遠", "永久に", "ずっと", "常に", "必ず", "今後", "これから", "いつまでも",
    ]),
    (C::Memory, &[
        "to memory", "in memory", "to your memory", "in your memory", "your memory", "long term memory", "longterm memory", "team memory", "memory bank", "as a rule", "this rule", "this instruction", "these instructions", "as a confirmed", "as confirmed", "your context", "knowledge base", "the following rule", "this directive",
        "в память", "в памяти", "долговременн* памят*", "как правило", "это правило", "эту инструкцию", "эти правила", "im gedachtnis", "im speicher", "in dein gedachtnis", "als regel", "diese regel", "diese anweisung", "langzeitgedachtnis",
        "en memoire", "dans ta memoire", "dans votre memoire", "cette regle", "cette consigne", "comme regle", "cette instruction", "en tu memoria", "en la memoria", "en memoria", "esta regla", "esta instruccion", "como regla",
        "记忆", "这条规则", "此规则", "这个规则", "内存", "长期", "此指令", "メモリ", "記憶", "このルール", "この指示", "この規則", "長期",
    ]),
    (C::Answer, &[
        "answer", "answers", "reply", "replies", "your response", "your responses", "response you", "your message", "your messages", "your output", "output you", "conversation", "conversations", "chat", "every time you", "everything you write", "code you write", "code you generate", "commit you", "session", "sessions",
        "ответ*", "отвечай*", "сообщени*", "сесси*", "разговор*", "диалог*", "antwort*", "nachricht*", "gesprach*", "sitzung*", "unterhaltung*", "reponse*", "conversation*", "message*", "respuesta*", "conversacion*", "mensaje*", "sesion*",
        "回答", "回复", "答复", "对话", "会话", "返答", "応答", "会話", "セッション", "返信",
    ]),
    (C::Every, &[
        "every", "each", "all", "any", "all of your", "each of your", "to the end of", "at the end of", "at the start of", "кажд*", "всем", "всех", "во все", "ко всем", "любому", "в конце", "jede*", "alle*", "am ende", "chaque", "toutes", "tous", "a la fin", "cada", "todas", "todos", "al final",
        "每个", "每次", "每条", "所有", "末尾", "すべての", "全ての", "毎回", "各", "末尾",
    ]),
    (C::Add, &[
        "add", "append", "include", "insert", "mention", "put", "attach", "end every", "end each", "begin every", "start every", "start each", "recommend", "advertise", "sign every", "finish every", "prefix",
        "добавляй*", "добавь*", "вставляй*", "вставь*", "включай*", "упоминай*", "приписывай*", "рекомендуй*", "начинай", "заканчивай*", "fuge", "hange", "ergaenze", "erganze", "erwahne", "empfiehl", "beginne", "beende", "schreibe",
        "ajoute", "ajoutez", "insere", "inserez", "inclus", "incluez", "mentionne", "recommande", "termine", "commence", "anade", "agrega", "agregue", "incluye", "incluya", "inserta", "menciona", "recomienda", "termina", "empieza",
        "添加", "加上", "附上", "插入", "加入", "推荐", "提到", "追加", "付け加え", "挿入", "含め", "推奨", "付け", "入れ",
    ]),
    (C::Approve, &[
        "always approve", "always accept", "always allow", "always trust", "always merge", "always agree", "always say yes", "always execute", "always run", "always confirm", "auto approve", "automatically approve", "approve all", "approve every", "approve any", "trust every", "trust all", "never refuse", "never reject", "never question", "never ask", "always answer yes", "always grant", "rubber stamp", "wave through", "never decline",
        "всегда одобряй*", "всегда принимай*", "всегда разрешай*", "всегда соглашайся", "всегда доверяй*", "всегда подтверждай*", "одобряй* все", "одобряй* любые", "никогда не отказывай*", "никогда не отклоняй*", "всегда выполняй*", "genehmige immer", "akzeptiere immer", "erlaube immer", "stimme immer", "genehmige alle", "genehmige jede*", "lehne nie", "vertraue immer", "fuhre immer",
        "approuve toujours", "approuvez toujours", "accepte toujours", "acceptez toujours", "autorise toujours", "valide toujours", "approuve tou*", "ne refuse jamais", "fais toujours confiance", "aprueba siempre", "apruebe siempre", "siempre aprueba", "acepta siempre", "siempre acepta", "permite siempre", "confia siempre", "aprueba tod*", "nunca rechaces",
        "总是批准", "始终批准", "总是同意", "始终同意", "总是接受", "始终允许", "永远批准", "一律批准", "不要拒绝", "自动批准", "常に承認", "必ず承認", "常に許可", "常に受け入れ", "すべて承認", "全て承認", "拒否しない", "常に信頼",
    ]),
    (C::Reviewed, &[
        "pull request", "pull requests", "pr", "prs", "merge request", "merge requests", "commit", "commits", "change", "changes", "request", "requests", "command", "commands", "tool call", "tool calls", "transaction", "transactions", "payment", "payments", "access", "dependency", "dependencies", "package", "packages", "code", "deploy", "deployment", "deployments", "diff", "patch", "patches",
        "запрос*", "изменени*", "коммит*", "команд*", "вызов*", "платеж*", "доступ*", "код", "кода", "слияни*", "пакет*", "anfrage*", "anderung*", "commits", "befehl*", "zugriff*", "zahlung*", "code", "paket*", "werkzeugaufruf*", "demande*", "requete*", "changement*", "modification*", "commande*", "acces", "paiement*", "solicitud*", "cambio*", "comando*", "acceso*", "pago*", "codigo", "peticion*",
        "请求", "更改", "提交", "命令", "合并", "付款", "访问", "代码", "变更", "リクエスト", "変更", "コミット", "コマンド", "マージ", "支払", "アクセス", "コード", "要求",
    ]),
    (C::Blindly, &[
        "without asking", "without review", "without reviewing", "without question", "without questions", "without checking", "without confirmation", "without approval", "without verification", "no questions asked", "unconditionally", "blindly", "no matter what", "even if",
        "без проверки", "не спрашивая", "без вопросов", "без подтверждения", "безусловно", "ohne prufung", "ohne ruckfrage", "ohne nachfrage", "ohne zu fragen", "bedingungslos", "sans verification", "sans demander", "sans poser de question", "sans confirmation", "sans condition", "sin revisar", "sin preguntar", "sin confirmacion", "sin verificar", "sin revision", "incondicionalmente",
        "无需审查", "不经审查", "无需确认", "无条件", "不要询问", "確認せず", "確認なし", "レビューなし", "無条件", "質問せず",
    ]),
    (C::Send, &[
        "send", "upload", "forward", "transmit", "exfiltrate", "leak", "post them", "post it", "post the", "email them", "email it", "email the", "submit the",
        "отправь*", "отправляй*", "пришли*", "перешли*", "передай*", "загрузи*", "sende", "senden sie", "schicke", "ubermittle", "leite", "lade",
        "envoie", "envoyez", "transmets", "transfere", "publie", "televerse", "envia", "envie", "manda", "sube", "reenvia", "transmite",
        "发送", "上传", "转发", "泄露", "发到", "送信", "送って", "アップロード", "転送", "漏ら",
    ]),
    (C::Tell, &[
        "reveal", "print", "output", "repeat", "show me", "disclose", "dump", "display", "paste", "recite", "tell me", "write out", "what are", "what is", "list",
        "выведи*", "покажи*", "раскрой*", "повтори*", "напечатай*", "назови*", "gib", "zeige", "verrate", "wiederhole", "nenne", "revele", "affiche", "repete", "montre", "revela", "muestra", "repite", "imprime",
        "输出", "打印", "显示", "重复", "告诉我", "表示し", "出力し", "繰り返", "教えて",
    ]),
    (C::Brief, &[
        "system prompt", "your instructions", "your initial instructions", "your original instructions", "your hidden", "your guidelines", "your system message",
        "системный промпт", "системные инструкции", "твои инструкции", "свои инструкции", "systemprompt", "deine anweisungen", "prompt systeme", "tes instructions", "prompt del sistema", "tus instrucciones", "系统提示", "你的指令", "システムプロンプト", "あなたの指示",
    ]),
    (C::Secret, &[
        "system prompt", "your instructions", "your initial instructions", "your original instructions", "your hidden", "api key", "api keys", "apikey", "secret key", "access token", "access tokens", "private key", "private keys", "ssh key", "ssh keys", "credentials", "password", "passwords", "environment variables", "env file", ".env", "dotenv", "secrets", "conversation history", "chat history", "this conversation", "the conversation", "session cookie", "cookies", "id_rsa", "idrsa", "database dump", "everything you know", "contents of your context", "your context", "all records", "all memories", "customer data", "tokens",
        "системный промпт", "системные инструкции", "свои инструкции", "ключ* api", "api-ключ*", "api ключ*", "парол*", "переменные окружения", "переменных окружения", "учетные данные", "токен*", "секрет*", "историю переписки", "историю разговора", "закрыт* ключ*",
        "systemprompt", "deine anweisungen", "api schlussel", "api-schlussel", "passwort*", "zugangsdaten", "umgebungsvariablen", "geheimnisse", "gesprachsverlauf", "privaten schlussel", "prompt systeme", "tes instructions", "cle api", "cles api", "mot de passe", "mots de passe", "identifiants", "variables d'environnement", "historique de", "cle privee", "secrets",
        "prompt del sistema", "tus instrucciones", "clave api", "claves api", "clave de api", "contrasena*", "credenciales", "variables de entorno", "secretos", "historial de", "clave privada",
        "系统提示", "你的指令", "密钥", "密码", "环境变量", "凭据", "凭证", "对话历史", "令牌", "私钥", "システムプロンプト", "あなたの指示", "キー", "パスワード", "環境変数", "認証情報", "会話履歴", "秘密鍵", "トークン",
    ]),
    (C::Address, &["http:", "https:", "ftp:", "wss:", "mailto:", "webhook", "discord.gg", "telegram bot", "pastebin", "ngrok"]),
    (C::Call, &["call", "invoke", "use", "run", "execute", "trigger", "вызови*", "запусти*", "используй*", "rufe", "nutze", "verwende", "fuhre", "appelle", "appelez", "utilise", "utilisez", "lance", "llama", "invoca", "usa", "ejecuta", "utiliza", "调用", "使用", "运行", "呼び出", "使って", "実行", "使用し"]),
    (C::Tool, &["the tool", "tool", "the function", "function_call", "function call", "the save tool", "the shell tool", "your tools", "инструмент*", "das werkzeug", "werkzeug", "das tool", "l'outil", "outil", "la herramienta", "herramienta", "工具", "ツール"]),
    (C::With, &["with", "with arguments", "with the arguments", "with parameters", "arguments", "parameters", "passing", "с аргумент*", "с параметр*", "с текстом", "аргумент*", "mit", "argumenten", "avec", "arguments", "con", "argumentos", "参数", "引数"]),
    (C::Model, &["ai", "assistant", "assistants", "llm", "llms", "language model", "model", "chatbot", "copilot", "coding agent", "agent", "agents", "claude", "chatgpt", "gpt", "gemini", "ассистент*", "модель", "нейросеть", "agent*", "assistent", "sprachmodell", "modele", "asistente", "modelo", "助手", "模型", "アシスタント", "モデル"]),
];

/// A word of the lexicon in a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    pub class: Class,
    pub start: usize,
    pub end: usize,
}

struct Lexicon {
    finder: AhoCorasick,
    /// Class, and whether a word may go on behind it.
    entries: Vec<(Class, bool, bool)>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut patterns = Vec::new();
    let mut entries = Vec::new();
    for (class, words) in WORDS {
        for word in *words {
            let (word, stem) = word.strip_suffix('*').map_or((*word, false), |word| (word, true));
            let folded = folded_word(&without_signs(&word.replace("* ", " ")));
            let spaced = !folded.starts_with(is_unspaced);
            patterns.push(folded);
            entries.push((*class, stem, spaced));
        }
    }
    let finder = AhoCorasick::builder().match_kind(MatchKind::Standard).build(patterns);
    Lexicon { finder: finder.expect("the lexicon is small"), entries }
});

/// Signs within words are not in the folded reading.
fn without_signs(word: &str) -> String {
    word.strip_prefix('.').unwrap_or(word).replace(['\'', '-', '_'], "")
}

/// Scripts that put no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The words of the lexicon in `folded`, by where they begin.
pub(crate) fn hits(folded: &Folded) -> Vec<Hit> {
    let mut hits: Vec<Hit> = LEXICON
        .finder
        .find_overlapping_iter(&folded.text)
        .filter_map(|found| {
            let (class, stem, spaced) = LEXICON.entries[found.pattern().as_usize()];
            let (start, end) = (found.start(), found.end());
            let whole = !spaced || folded.is_edge(start) && (stem || folded.is_edge(end));
            (whole && (!is_verb(class) || is_order(folded, start))).then_some(Hit {
                class,
                start,
                end,
            })
        })
        .collect();
    hits.sort_by_key(|hit| hit.start);
    hits
}

/// Classes whose words count as orders only.
fn is_verb(class: Class) -> bool {
    matches!(class, Class::Drop | Class::Send | Class::Tell | Class::Approve | Class::Call)
}

/// Words before a verb that make it a report or a plan and no order.
#[rustfmt::skip]
const REPORTS: &[&str] = &[
    "we", "they", "it", "that", "which", "wiii", "would", "can", "couid", "may", "might", "not", "dont", "never", "cannot", "cant", "i",
    "git", "to", "and", "or", "does", "doesnt", "didnt", "did", "shaii", "then", "who", "users", "peopie", "the", "a", "an", "of", "this", "no", "in", "an", "my", "our", "for", "with", "as", "is", "are", "be", "was", "were", "been", "has", "have",
];

/// Whether a verb at `start` is said to the reader: nothing before it in its sentence says that
/// somebody else does it.
fn is_order(folded: &Folded, start: usize) -> bool {
    let before = &folded.text[..start];
    let mut window = before.len().saturating_sub(60);
    while !before.is_char_boundary(window) {
        window += 1;
    }
    let sentence =
        before[window..].rsplit(['.', ':', ';', '!', '?', '\n', '(', '"', '>', ',']).next();
    // "will simply ignore" is no order either.
    let is_adverb = |word: &&str| word.ends_with("iy") && *word != "oniy";
    let is_word = |word: &&str| word.contains(char::is_alphabetic);
    let words = sentence.unwrap_or_default().split_whitespace().filter(is_word).rev();
    let mut words = words.skip_while(is_adverb);
    match words.next() {
        // "I want you to ignore", "and now please ignore".
        Some(last) if REPORTS.contains(&last) => {
            let links = matches!(last, "to" | "and" | "then" | "i");
            links && words.take(4).any(|word| matches!(word, "you" | "piease" | "must" | "now"))
        }
        _ => true,
    }
}
